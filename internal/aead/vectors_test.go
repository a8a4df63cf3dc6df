package aead

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/sealane/sealane/internal/kernel"
)

const sunscreen = "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it."

// TestVectors has the examples of RFC 8439, section 2.8.2, and draft-irtf-cfrg-xchacha-03, appendix A.3.1.
func TestVectors(t *testing.T) {
	vectors := map[string]struct{ nonce, sealed string }{
		"ChaCha20": {"070000004041424344454647",
			"d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36" +
				"92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc3ff4def08e4b7a9de576d26586cec64b61161ae10b594f09e26a7e902ecbd0600691"},
		"XChaCha20": {"404142434445464748494a4b4c4d4e4f5051525354555657",
			"bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452" +
				"2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff921f9664c97637da9768812f615c68b13b52ec0875924c1c7987947deafd8780acf49"},
	}
	forEach(t, func(t *testing.T, v variant, level kernel.Level) {
		key := make([]byte, keySize)
		for i := range key {
			key[i] = byte(0x80 + i)
		}
		a, err := v.ours(level, key)
		if err != nil {
			t.Fatal(err)
		}
		nonce, sealed, ad := unhex(t, vectors[v.name].nonce), unhex(t, vectors[v.name].sealed), unhex(t, "50515253c0c1c2c3c4c5c6c7")
		if got := a.Seal(nil, nonce, []byte(sunscreen), ad); !bytes.Equal(got, sealed) {
			t.Errorf("sealed %x, want %x", got, sealed)
		}
		if got, err := a.Open(nil, nonce, sealed, ad); err != nil || string(got) != sunscreen {
			t.Errorf("opened %q, %v", got, err)
		}
	})
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type hexBytes []byte

func (h *hexBytes) UnmarshalJSON(j []byte) error {
	var s string
	if err := json.Unmarshal(j, &s); err != nil {
		return err
	}
	b, err := hex.DecodeString(s)
	*h = b
	return err
}

// TestWycheproof runs Project Wycheproof's vectors.
func TestWycheproof(t *testing.T) {
	files := map[string]string{"ChaCha20": "chacha20_poly1305_test.json", "XChaCha20": "xchacha20_poly1305_test.json"}
	forEach(t, func(t *testing.T, v variant, level kernel.Level) {
		content, err := os.ReadFile("../../test/vectors/wycheproof/" + files[v.name])
		if err != nil {
			t.Fatal(err)
		}
		var suite struct {
			NumberOfTests int
			TestGroups    []struct {
				Tests []struct {
					ID                         int `json:"tcId"`
					Comment, Result            string
					Key, IV, AAD, Msg, CT, Tag hexBytes
				}
			}
		}
		if err := json.Unmarshal(content, &suite); err != nil {
			t.Fatal(err)
		}
		ran := 0
		for _, group := range suite.TestGroups {
			for _, test := range group.Tests {
				ran++
				a, err := v.ours(level, test.Key)
				if err != nil {
					t.Fatalf("%d: %v", test.ID, err)
				}
				sealed := append(bytes.Clone(test.CT), test.Tag...)
				if len(test.IV) != v.nonceSize {
					if test.Result != "invalid" || panics(func() { a.Seal(nil, test.IV, test.Msg, test.AAD) }) == "" ||
						panics(func() { a.Open(nil, test.IV, sealed, test.AAD) }) == "" {
						t.Errorf("%d: nonce of %d bytes accepted", test.ID, len(test.IV))
					}
					continue
				}
				opened, err := a.Open(nil, test.IV, sealed, test.AAD)
				resealed := a.Seal(nil, test.IV, test.Msg, test.AAD)
				switch test.Result {
				case "valid":
					if err != nil || !bytes.Equal(opened, test.Msg) {
						t.Errorf("%d (%s): opened %x, %v", test.ID, test.Comment, opened, err)
					}
					if !bytes.Equal(resealed, sealed) {
						t.Errorf("%d (%s): sealed %x, want %x", test.ID, test.Comment, resealed, sealed)
					}
				case "invalid":
					if err == nil || opened != nil || bytes.Equal(resealed, sealed) {
						t.Errorf("%d (%s): opened", test.ID, test.Comment)
					}
				default:
					t.Errorf("%d: result %q", test.ID, test.Result)
				}
			}
		}
		if ran != suite.NumberOfTests || ran < 300 {
			t.Errorf("%d tests ran, of %d", ran, suite.NumberOfTests)
		}
	})
}
