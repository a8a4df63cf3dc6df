package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// With NATS no secret is on the command line or in a message, and impossible options fail at once.
func TestNATSOptions(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		name = filepath.Join(dir, name)
		os.WriteFile(name, []byte(text), mode)
		os.Chmod(name, mode)
		return name
	}
	login := file("login", "gateway:guess\n", 0o600)
	for _, c := range []struct {
		k    keySources
		says string
	}{
		{keySources{nats: "tls://host:4222"}, ""},
		{keySources{nats: "tls://gateway:guess@host:4222"}, "must not contain a user"},
		{keySources{nats: "nats://gateway@host:4222"}, "must not contain a user"},
		{keySources{nats: "tls://gateway:gu%zzess@host:4222"}, "must be a URL"},
		{keySources{nats: "host:4222"}, "must be a URL"},
		{keySources{nats: "tls://host:4222", plain: true}, "contradict"},
		{keySources{nats: "tls://host:4222", ca: dir + "/none"}, "no such file"},
		{keySources{nats: "tls://host:4222", creds: dir + "/none"}, "no such file"},
		{keySources{nats: "tls://host:4222", creds: login, login: login}, "one of them"},
		{keySources{nats: "tls://host:4222", login: login}, ""},
		{keySources{nats: "tls://host:4222", login: file("readable", "gateway:guess", 0o644)}, "0644"},
		{keySources{nats: "tls://host:4222", login: file("half", "guess", 0o600)}, "USER:PASSWORD"},
	} {
		_, err := c.k.natsOptions()
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c.k, err)
		}
		if err != nil && strings.Contains(err.Error(), "guess") {
			t.Errorf("it tells the password: %v", err)
		}
	}
	// TLS is asked for unless told otherwise.
	secure := keySources{nats: "nats://host:4222"}
	plain := keySources{nats: "nats://host:4222", plain: true}
	a, _ := secure.natsOptions()
	b, _ := plain.natsOptions()
	if len(a) != 1 || len(b) != 0 {
		t.Errorf("%d and %d options", len(a), len(b))
	}
}
