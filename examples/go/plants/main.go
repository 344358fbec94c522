// Adds, lists and deletes a plant over gRPC.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	plantstorev1 "example.com/garden/gen/plantstore/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// The stable reason of a failed call; empty if the failure is not the service's.
func reasonOf(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.Reason
		}
	}
	return ""
}

func must(err error) {
	if err != nil {
		log.Fatal(reasonOf(err), " ", err)
	}
}

func main() {
	conn, err := grpc.NewClient(os.Getenv("GRPC_STORE"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(err)
	defer conn.Close()
	plants := plantstorev1.NewPlantStoreServiceClient(conn)

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+os.Getenv("TOKEN"))

	// Each write has its own key; after UNAVAILABLE or a deadline, retry with the same key.
	add := func(plant *plantstorev1.NewPlant) (*plantstorev1.CreatePlantResponse, error) {
		keyed := metadata.AppendToOutgoingContext(ctx, "idempotency-key", rand.Text())
		return plants.CreatePlant(keyed, &plantstorev1.CreatePlantRequest{Plant: plant})
	}

	fern := &plantstorev1.NewPlant{Id: proto.Int64(9007199254740993), Name: proto.String("Fern")}
	added, err := add(fern)
	must(err)
	fmt.Println("added at position", added.Position)
	_, err = add(fern)
	fmt.Println(reasonOf(err))

	stream, err := plants.StreamPlants(ctx, &plantstorev1.StreamPlantsRequest{})
	must(err)
	for {
		message, err := stream.Recv()
		if err == io.EOF {
			break
		}
		must(err)
		for _, plant := range message.Plants {
			fmt.Println(plant.Name)
		}
	}
	_, err = plants.DeletePlant(ctx, &plantstorev1.DeletePlantRequest{Id: fern.Id})
	must(err)
}
