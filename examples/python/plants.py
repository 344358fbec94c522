import os
import uuid

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from plantstore.v1 import plant_pb2
from plantstore.v1 import plant_store_service_pb2 as messages
from plantstore.v1 import plant_store_service_pb2_grpc as services

AUTHORIZATION = ("authorization", f"Bearer {os.environ['TOKEN']}")


def reason_of(error):
    """The stable reason of a failed call; None if the failure is not the service's."""
    status = rpc_status.from_call(error)
    for detail in status.details if status else []:
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info):
            return info.reason
    return None


with grpc.insecure_channel(os.environ["GRPC_STORE"]) as channel:
    plants = services.PlantStoreServiceStub(channel)
    fern = plant_pb2.NewPlant(id=9007199254740993, name="Fern")

    def add(plant):
        """Adds a plant. Each write has its own key; after UNAVAILABLE or a deadline, retry with the same key."""
        metadata = [AUTHORIZATION, ("idempotency-key", str(uuid.uuid4()))]
        return plants.CreatePlant(messages.CreatePlantRequest(plant=plant), metadata=metadata, timeout=10)

    print("added at position", add(fern).position)
    try:
        add(fern)
    except grpc.RpcError as error:
        print(reason_of(error) or error)
    for message in plants.StreamPlants(messages.StreamPlantsRequest(), metadata=[AUTHORIZATION], timeout=10):
        for plant in message.plants:
            print(plant.name)
    plants.DeletePlant(messages.DeletePlantRequest(id=fern.id), metadata=[AUTHORIZATION], timeout=10)
