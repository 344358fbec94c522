"""Verifies an export of the log from event.proto alone: audit_verify.py PROTO_DIR EXPORT [SIGNED_HEAD JWKS]

EXPORT is what `plantstore audit export` printed, in either format. Needs: pip install grpcio-tools cryptography
"""
import base64, hashlib, json, sys
import grpc

sys.path.insert(0, sys.argv[1])
Event = grpc.protos("plantstore/v1/event.proto").Event


def from_json(line):
    """The event of one line: the members of the JSON object are fields of the message, but for type and plantId."""
    row = json.loads(line)
    event = Event(position=row["position"], event_id=row["eventId"], owner=row["owner"], actor=row["actor"],
                  idempotency_key=row.get("idempotencyKey", ""), traceparent=row.get("traceparent", ""),
                  hash=bytes.fromhex(row["hash"]))
    event.time.FromJsonString(row["time"])
    data = {"PlantAdded": event.plant_added, "PlantDeleted": event.plant_deleted}[row["type"]]
    data.SetInParent()
    data.id = row["plantId"]
    for field in ("name", "tag"):
        if field in row:
            setattr(data, field, row[field])
    return event


def from_protobuf(file):
    """Every event of a file of messages with their lengths, as varints, before them."""
    while byte := file.read(1):
        length = shift = 0
        while byte[0] > 127:
            length |= (byte[0] & 127) << shift
            shift, byte = shift + 7, file.read(1)
        yield Event.FromString(file.read(length | byte[0] << shift))


def canonical(event):
    unsealed = Event()
    unsealed.CopyFrom(event)
    unsealed.ClearField("hash")
    return unsealed.SerializeToString(deterministic=True)


def events(path):
    with open(path, "rb") as file:
        is_json = file.read(2) == b'{"'
        file.seek(0)
        yield from map(from_json, file) if is_json else from_protobuf(file)


def signed_head(jws, jwks):
    """The head that a key of the JWKS signed; raises InvalidSignature when none did."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    decode = lambda text: base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    header, payload, signature = jws.strip().split(".")
    kid = json.loads(decode(header))["kid"]
    key = next(key for key in json.loads(jwks)["keys"] if key["kid"] == kid)
    Ed25519PublicKey.from_public_bytes(decode(key["x"])).verify(decode(signature), f"{header}.{payload}".encode())
    return json.loads(decode(payload))


previous, position, hashes = bytes(32), 0, {0: bytes(32).hex()}
for event in events(sys.argv[2]):
    position += 1
    previous = hashlib.sha256(previous + canonical(event)).digest()
    if event.position != position or event.hash != previous:
        sys.exit(f"broken at position {position}")
    hashes[position] = previous.hex()
if len(sys.argv) > 3:
    head = signed_head(open(sys.argv[3]).read(), open(sys.argv[4]).read())
    if hashes.get(head["position"]) != head["hash"]:
        sys.exit(f"does not extend the head that was signed at position {head['position']}")
print(position, previous.hex())
