package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// The service sends something at least every 15 s. A connection that is silent for longer than this is dead.
const silence = 45 * time.Second

// Calls on for each event of one stream. Returns the id to resume after and the pause before that, or an error if the
// service refuses the request.
func watch(lastEventID string, on func(event, id, data string)) (string, time.Duration, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dead := time.AfterFunc(silence, cancel)
	defer dead.Stop()
	request, _ := http.NewRequestWithContext(ctx, "GET", os.Getenv("STORE")+"/plants", nil)
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
	if lastEventID != "" {
		request.Header.Set("Last-Event-ID", lastEventID)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return lastEventID, time.Second, nil
	}
	defer response.Body.Close()
	if response.StatusCode == 429 || response.StatusCode >= 500 {
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		return lastEventID, time.Duration(max(seconds, 1)) * time.Second, nil
	}
	if response.StatusCode != 200 {
		body, _ := io.ReadAll(response.Body)
		return lastEventID, 0, fmt.Errorf("%s: %s", response.Status, body)
	}
	if lastEventID == "" {
		on("reset", "", "{}")
	}
	var event, data string
	id := lastEventID
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		dead.Reset(silence)
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case field == "id":
			id = value
		case field == "event":
			event = value
		case field == "data":
			data = value
		case lines.Text() == "":
			// Only here is the event whole. A stream that is cut before this line resumes after the event before it.
			lastEventID = id
			if event != "" {
				on(event, id, data)
			}
			event, data = "", ""
		}
	}
	return lastEventID, time.Second, nil
}

func main() {
	for id := ""; ; {
		next, pause, err := watch(id, func(event, id, data string) { fmt.Println(event, id, data) })
		if err != nil {
			log.Fatal(err)
		}
		id = next
		time.Sleep(pause)
	}
}
