package keyshelf

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"keyshelf.example/keyshelf/internal/ledger"
	"keyshelf.example/keyshelf/internal/local"
	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/internal/wire"
	"keyshelf.example/keyshelf/offline"
)

// maxStreamed is how many instances a stream may name. Without names it is about all that the credential may see.
const maxStreamed = 1_000

var maxAge = regexp.MustCompile(`(?:^|[\s,])max-age=([0-9]{1,9})(?:[\s,]|$)`)

// service is what decides locally asks over HTTP. Each request is sent once.
type service struct{ transport *wire.Transport }

func (service service) Snapshot(ctx context.Context, instance, etag string) (local.Reply, error) {
	path, err := wire.Path("instances", instance, "snapshot")
	if err != nil {
		return local.Reply{}, err
	}
	header := map[string]string{"accept": "application/jwt"}
	if etag != "" {
		header["if-none-match"] = etag
	}
	response, err := service.transport.Once(ctx, wire.Request{Method: http.MethodGet, Path: path, Header: header, Promise: wire.Token})
	if err != nil {
		return local.Reply{}, err
	}
	reply := local.Reply{Unchanged: response.Status == http.StatusNotModified}
	if !reply.Unchanged {
		reply.Token, reply.ETag = strings.TrimSpace(string(response.Body)), response.Header.Get("etag")
	}
	if found := maxAge.FindStringSubmatch(response.Header.Get("cache-control")); found != nil {
		seconds, _ := strconv.Atoi(found[1])
		reply.MaxAge = time.Duration(seconds) * time.Second
	}
	reply.Date, _ = http.ParseTime(response.Header.Get("date"))
	return reply, nil
}

func (service service) Refill(ctx context.Context, instance string, body any) (ledger.Response, error) {
	path, err := wire.Path("instances", instance, "tranches")
	if err != nil {
		return ledger.Response{}, err
	}
	response, err := service.transport.Once(ctx, wire.Request{Method: http.MethodPost, Path: path, Body: body})
	if err != nil {
		return ledger.Response{}, err
	}
	parsed, err := values.ParseJSON(response.Body)
	if err == nil && values.Object(parsed) == nil {
		err = errors.New("the response is no refill")
	}
	if err != nil {
		return ledger.Response{}, service.transport.Foreign(err)
	}
	date, _ := http.ParseTime(response.Header.Get("date"))
	return ledger.Response{Body: values.Object(parsed), Date: date}, nil
}

func (service service) Keys(ctx context.Context, organization string) (offline.Keys, error) {
	path, err := wire.Path("offline", organization, "keys")
	if err != nil {
		return nil, err
	}
	response, err := service.transport.Once(ctx, wire.Request{Method: http.MethodGet, Path: path})
	if err != nil {
		return nil, err
	}
	keys, err := offline.KeySet(response.Body)
	if err == nil && len(keys) == 0 {
		err = errors.New("the response has no key")
	}
	if err != nil {
		return nil, service.transport.Foreign(err)
	}
	return keys, nil
}

func (service service) Changes(ctx context.Context, instances []string) (io.ReadCloser, error) {
	query := url.Values{}
	if len(instances) <= maxStreamed {
		query["instance"] = instances
	}
	return service.transport.Stream(ctx, wire.Request{Method: http.MethodGet, Path: "/api/changes", Query: query})
}
