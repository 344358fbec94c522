package main

import (
	"bufio"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

// Calls on for each event of one stream. Returns the id to resume after, and whether to try again.
func watch(lastEventID string, on func(event, id, data string)) (string, bool) {
	request, _ := http.NewRequest("GET", os.Getenv("STORE")+"/plants", nil)
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
	if lastEventID != "" {
		request.Header.Set("Last-Event-ID", lastEventID)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return lastEventID, true
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return lastEventID, response.StatusCode == 429 || response.StatusCode == 503
	}
	if lastEventID == "" {
		on("reset", "", "{}")
	}
	var event, data string
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case field == "id":
			lastEventID = value
		case field == "event":
			event = value
		case field == "data":
			data = value
		case lines.Text() == "" && event != "":
			on(event, lastEventID, data)
			event = ""
		}
	}
	return lastEventID, true
}

func main() {
	id, more := "", true
	for more {
		id, more = watch(id, func(event, id, data string) { fmt.Println(event, id, data) })
		time.Sleep(time.Second)
	}
	log.Fatal("the service refuses the token")
}
