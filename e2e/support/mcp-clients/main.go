// The official Go client. Requests are lines of JSON: [id, method, params].
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"os"
	"os/exec"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var mutex sync.Mutex

func say(message map[string]any) {
	mutex.Lock()
	defer mutex.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(message); err != nil {
		log.Fatal(err)
	}
}

func main() {
	options := &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, request *mcp.ProgressNotificationClientRequest) {
			say(map[string]any{"progress": request.Params.Progress, "message": request.Params.Message})
		},
	}
	if os.Args[1] == "links" {
		url := &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}
		options.Capabilities = &mcp.ClientCapabilities{Elicitation: url}
		options.ElicitationHandler = func(_ context.Context, request *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			say(map[string]any{"link": request.Params.URL})
			return &mcp.ElicitResult{Action: "accept"}, nil
		}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options)
	ctx := context.Background()
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: exec.Command(os.Args[2], os.Args[3:]...)}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	say(map[string]any{"ready": true})

	running := map[string]context.CancelFunc{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var request [3]json.RawMessage
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			log.Fatal(err)
		}
		id, params := string(request[0]), request[2]
		if string(request[1]) == `"cancel"` {
			running[string(params)]()
			continue
		}
		own, cancel := context.WithCancel(ctx)
		running[id] = cancel
		go func() {
			result, err := send(own, session, string(request[1]), params)
			if err != nil {
				say(map[string]any{"id": request[0], "error": err.Error()})
			} else {
				say(map[string]any{"id": request[0], "result": result})
			}
		}()
	}
}

func send(ctx context.Context, session *mcp.ClientSession, method string, given json.RawMessage) (any, error) {
	switch method {
	case `"tools"`:
		return session.ListTools(ctx, nil)
	case `"call"`:
		params := &mcp.CallToolParams{}
		if err := json.Unmarshal(given, params); err != nil {
			return nil, err
		}
		params.SetProgressToken(params.Name)
		return session.CallTool(ctx, params)
	case `"read"`:
		params := &mcp.ReadResourceParams{}
		if err := json.Unmarshal(given, params); err != nil {
			return nil, err
		}
		return session.ReadResource(ctx, params)
	default:
		params := &mcp.GetPromptParams{}
		if err := json.Unmarshal(given, params); err != nil {
			return nil, err
		}
		return session.GetPrompt(ctx, params)
	}
}
