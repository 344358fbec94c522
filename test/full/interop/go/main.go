// Verifies an export of the log from event.proto alone: go run . PROTO_DIR EXPORT
//
// EXPORT is what `plantstore audit export --format protobuf` printed, or the same with --public, which has no contents to check.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return value
}

func field(message protoreflect.Message, name protoreflect.Name) protoreflect.Value {
	return message.Get(message.Descriptor().Fields().ByName(name))
}

func hashOf(prefix []byte, message protoreflect.Message) []byte {
	canonical := must(proto.MarshalOptions{Deterministic: true}.Marshal(message.Interface()))
	sum := sha256.Sum256(append(bytes.Clone(prefix), canonical...))
	return sum[:]
}

func main() {
	source := protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: os.Args[1:2]})
	compiler := protocompile.Compiler{Resolver: source}
	files := must(compiler.Compile(context.Background(), "plantstore/v1/event.proto"))
	messages := files[0].Messages()
	file := bufio.NewReader(must(os.Open(os.Args[2])))
	broken := func(position int64) {
		fmt.Fprintf(os.Stderr, "broken at position %d\n", position)
		os.Exit(1)
	}

	previous, position := make([]byte, 32), int64(0)
	missing, erasures := map[int64]int64{}, map[int64]int64{}
	for {
		length, err := binary.ReadUvarint(file)
		if err == io.EOF {
			break
		}
		buffer := make([]byte, must(length, err))
		must(io.ReadFull(file, buffer))
		position++
		var event, content protoreflect.Message
		// The first field of a Record is a message, that of an Event a varint.
		if buffer[0] == 0x08 {
			event = dynamicpb.NewMessage(messages.ByName("Event"))
			must(0, proto.Unmarshal(buffer, event.Interface()))
		} else {
			record := dynamicpb.NewMessage(messages.ByName("Record"))
			must(0, proto.Unmarshal(buffer, record))
			event = field(record, "event").Message()
			if record.Has(record.Descriptor().Fields().ByName("content")) {
				content = field(record, "content").Message()
			}
			if by := field(record, "erased_by").Int(); by != 0 {
				missing[by]++
			}
		}
		sealed := bytes.Clone(field(event, "hash").Bytes())
		event.Clear(event.Descriptor().Fields().ByName("hash"))
		previous = hashOf(previous, event)
		isSaid := content == nil || bytes.Equal(hashOf(nil, content), field(event, "commitment").Bytes())
		if field(event, "position").Int() != position || !bytes.Equal(sealed, previous) || !isSaid {
			broken(position)
		}
		if field(event, "type").String() == "OwnerErased" {
			erasures[position] = field(event, "erased").Int()
		}
	}
	for by, count := range missing {
		if erasures[by] != count {
			broken(by)
		}
	}
	fmt.Printf("%d %x\n", position, previous)
}
