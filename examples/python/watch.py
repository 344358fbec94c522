import http.client, json, os, time, urllib.error, urllib.request

# The service sends something at least every 15 s. A connection that is silent for longer than this, in seconds, is dead.
SILENCE = 45

def watch_plants(store, token):
    last_event_id = ""
    while True:
        headers = {"accept": "text/event-stream", "authorization": f"Bearer {token}", "last-event-id": last_event_id}
        pause = 1
        try:
            request = urllib.request.Request(f"{store}/plants", headers=headers)
            with urllib.request.urlopen(request, timeout=SILENCE) as stream:
                if not last_event_id:
                    yield "reset", {}, ""
                event = {}
                for line in stream:
                    if not line.endswith(b"\n"):
                        break  # the stream was cut inside a line
                    field, _, value = line.decode().rstrip("\n").partition(":")
                    if field:
                        event[field] = value.removeprefix(" ")
                    elif event:
                        last_event_id = event.get("id", last_event_id)
                        if "event" in event:
                            yield event["event"], json.loads(event["data"]), last_event_id
                        event = {}
        except urllib.error.HTTPError as refused:
            if refused.code != 429 and refused.code < 500:
                raise
            seconds = refused.headers.get("retry-after", "")
            pause = int(seconds) if seconds.isdigit() else 1
        except (OSError, http.client.HTTPException):
            pass  # the connection broke or fell silent: resume after the last event
        time.sleep(pause)

for kind, data, position in watch_plants(os.environ["STORE"], os.environ["TOKEN"]):
    print(kind, position, json.dumps(data), flush=True)
