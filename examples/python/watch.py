import json, os, time, urllib.error, urllib.request

def watch_plants(store, token):
    last_event_id = ""
    while True:
        headers = {"accept": "text/event-stream", "authorization": f"Bearer {token}", "last-event-id": last_event_id}
        try:
            with urllib.request.urlopen(urllib.request.Request(f"{store}/plants", headers=headers), timeout=30) as stream:
                if not last_event_id:
                    yield "reset", {}, ""
                event = {}
                for line in stream:
                    field, _, value = line.decode().rstrip("\n").partition(":")
                    if field:
                        event[field] = value.removeprefix(" ")
                    elif event:
                        last_event_id = event.get("id", last_event_id)
                        if "event" in event:
                            yield event["event"], json.loads(event["data"]), last_event_id
                        event = {}
        except urllib.error.HTTPError as refused:
            if refused.code not in (429, 503):
                raise
        except OSError:
            pass  # the connection broke: resume after the last event
        time.sleep(1)

for kind, data, position in watch_plants(os.environ["STORE"], os.environ["TOKEN"]):
    print(kind, position, json.dumps(data), flush=True)
