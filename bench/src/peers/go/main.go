// A Go service as its community would write it: the same proto files, grpc-gateway for REST, the MongoDB driver, a document
// for each plant, written with w: majority. It prints the addresses of its REST and gRPC ports.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jwt"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "plantstore.example/peer/gen/plantstore/v1"
)

type document struct {
	Owner string  `bson:"owner"`
	ID    int64   `bson:"id"`
	Name  string  `bson:"name"`
	Tag   *string `bson:"tag,omitempty"`
}

type service struct {
	pb.UnimplementedPlantStoreServiceServer
	plants *mongo.Collection
	keys   jwk.Set
}

// owner verifies the caller's bearer token.
func (s *service) owner(ctx context.Context) (string, error) {
	authorization := metadata.ValueFromIncomingContext(ctx, "authorization")
	if len(authorization) == 0 {
		return "", status.Error(codes.Unauthenticated, "no token")
	}
	token, err := jwt.ParseString(strings.TrimPrefix(authorization[0], "Bearer "), jwt.WithKeySet(s.keys),
		jwt.WithIssuer(os.Getenv("JWT_ISSUER")), jwt.WithAudience(os.Getenv("JWT_AUDIENCE")))
	if err != nil {
		return "", status.Error(codes.Unauthenticated, err.Error())
	}
	owner, _ := token.Subject()
	return owner, nil
}

func (s *service) CreatePlant(ctx context.Context, in *pb.CreatePlantRequest) (*pb.CreatePlantResponse, error) {
	owner, err := s.owner(ctx)
	if err != nil {
		return nil, err
	}
	plant := in.GetPlant()
	_, err = s.plants.InsertOne(ctx, document{owner, plant.GetId(), plant.GetName(), plant.Tag})
	if mongo.IsDuplicateKeyError(err) {
		return nil, status.Error(codes.AlreadyExists, "the plant exists")
	}
	if err != nil {
		return nil, err
	}
	return &pb.CreatePlantResponse{Plant: &pb.Plant{Name: plant.GetName(), Tag: plant.Tag}}, nil
}

func (s *service) ListPlants(ctx context.Context, in *pb.ListPlantsRequest) (*pb.ListPlantsResponse, error) {
	owner, err := s.owner(ctx)
	if err != nil {
		return nil, err
	}
	found := options.Find().SetSort(bson.D{{Key: "id", Value: 1}}).SetLimit(int64(in.GetLimit())).
		SetProjection(bson.D{{Key: "_id", Value: 0}, {Key: "name", Value: 1}, {Key: "tag", Value: 1}})
	cursor, err := s.plants.Find(ctx, bson.D{{Key: "owner", Value: owner}}, found)
	if err != nil {
		return nil, err
	}
	var documents []document
	if err := cursor.All(ctx, &documents); err != nil {
		return nil, err
	}
	plants := make([]*pb.Plant, len(documents))
	for i, d := range documents {
		plants[i] = &pb.Plant{Name: d.Name, Tag: d.Tag}
	}
	return &pb.ListPlantsResponse{Plants: plants}, nil
}

func (s *service) DeletePlant(ctx context.Context, in *pb.DeletePlantRequest) (*pb.DeletePlantResponse, error) {
	owner, err := s.owner(ctx)
	if err != nil {
		return nil, err
	}
	result, err := s.plants.DeleteOne(ctx, bson.D{{Key: "owner", Value: owner}, {Key: "id", Value: in.GetId()}})
	if err != nil {
		return nil, err
	}
	if result.DeletedCount == 0 {
		return nil, status.Error(codes.NotFound, "there is no such plant")
	}
	return &pb.DeletePlantResponse{}, nil
}

func main() {
	ctx := context.Background()
	keys, err := jwk.Fetch(ctx, os.Getenv("JWKS_URL"))
	check(err)
	client, err := mongo.Connect(options.Client().ApplyURI(os.Getenv("MONGODB_URI")).SetWriteConcern(writeconcern.Majority()))
	check(err)
	plants := client.Database("go").Collection("plants")
	_, err = plants.Indexes().CreateOne(ctx, mongo.IndexModel{
		Keys:    bson.D{{Key: "owner", Value: 1}, {Key: "id", Value: 1}},
		Options: options.Index().SetUnique(true),
	})
	check(err)
	s := &service{plants: plants, keys: keys}

	rpc, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	server := grpc.NewServer()
	pb.RegisterPlantStoreServiceServer(server, s)
	go func() { check(server.Serve(rpc)) }()

	// In process, without a connection to the gRPC port: the cheaper of the gateway's two ways.
	gateway := runtime.NewServeMux()
	check(pb.RegisterPlantStoreServiceHandlerServer(ctx, gateway, s))
	rest, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Printf("http://%s %s\n", rest.Addr(), rpc.Addr())
	check(http.Serve(rest, gateway))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
