"""Calls the plant store with grpcio and the code that protoc makes of the protos; prints what it got as JSON.

Arguments: the folder of the generated code, the address of the service, a token.
"""

import json
import sys

sys.path.insert(0, sys.argv[1])

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from plantstore.v1 import plant_pb2
from plantstore.v1 import plant_store_service_pb2 as messages
from plantstore.v1 import plant_store_service_pb2_grpc as services

IDS = [-(2**63), 2**53 + 1, 2**63 - 1]


def plant(message):
    fields = {"name": message.name}
    return fields | {"tag": message.tag} if message.HasField("tag") else fields


def failure(call):
    """The code, and the reason in the details."""
    try:
        call()
    except grpc.RpcError as error:
        info = error_details_pb2.ErrorInfo()
        rpc_status.from_call(error).details[0].Unpack(info)
        return {"code": error.code().name, "reason": info.reason, "domain": info.domain}
    return {}


with grpc.insecure_channel(sys.argv[2]) as channel:
    stub = services.PlantStoreServiceStub(channel)
    caller = {"metadata": [("authorization", f"Bearer {sys.argv[3]}")], "timeout": 20}

    def create(id):
        request = messages.CreatePlantRequest(plant=plant_pb2.NewPlant(id=id, name=str(id), tag=""))
        return stub.CreatePlant(request, **caller)

    def delete(id):
        return stub.DeletePlant(messages.DeletePlantRequest(id=id), **caller)

    created = [create(id) for id in IDS]
    page = stub.ListPlants(messages.ListPlantsRequest(limit=2), **caller)
    rest = stub.ListPlants(messages.ListPlantsRequest(cursor=page.next_cursor), **caller)
    streamed = [plant(each) for part in stub.StreamPlants(messages.StreamPlantsRequest(), **caller) for each in part.plants]
    twice = failure(lambda: create(IDS[1]))
    deleted = [delete(id) for id in IDS]
    missing = failure(lambda: delete(IDS[1]))
    anonymous = failure(lambda: stub.ListPlants(messages.ListPlantsRequest()))
    print(
        json.dumps(
            {
                "created": [plant(answer.plant) for answer in created],
                "ascending": all(a.position < b.position for a, b in zip(created + deleted, (created + deleted)[1:])),
                "pages": [[plant(each) for each in page.plants], [plant(each) for each in rest.plants]],
                "streamed": streamed,
                "twice": twice,
                "missing": missing,
                "anonymous": anonymous,
            }
        )
    )
