package aead

import (
	"bytes"
	"crypto/cipher"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sealane/sealane/internal/dispatch"
	"github.com/sealane/sealane/internal/kernel"
)

const sunscreen = "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it."

// TestVectors checks the examples of RFC 8439, section 2.8.2, and draft-irtf-cfrg-xchacha-03, appendix A.3.1.
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
		if vectors[v.name].sealed == "" {
			return // AES-GCM has TestGCMVectors
		}
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

// gcmVector is a case of McGrew and Viega, "The Galois/Counter Mode of Operation (GCM)", appendix B. All except the
// first two of each key length have the same key, and the same text or a prefix of it.
type gcmVector struct {
	keySize            int
	nonce, sealed, tag string
}

const (
	gcmKey  = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"
	gcmText = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255"
	gcmAD   = "feedfacedeadbeeffeedfacedeadbeefabaddad2"

	gcmNonce12 = "cafebabefacedbaddecaf888"
	gcmNonce60 = "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728c3c0c95156809539fcf0e2429a6b525416aedbf5a0de6a57a637b39b"
)

var gcmVectors = []gcmVector{
	{16, "", "", "58e2fccefa7e3061367f1d57a4e7455a"},
	{16, "", "0388dace60b6a392f328c2b971b2fe78", "ab6e47d42cec13bdf53a67b21257bddf"},
	{16, gcmNonce12, "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985", "4d5c2af327cd64a62cf35abd2ba6fab4"},
	{16, gcmNonce12, "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091", "5bc94fbc3221a5db94fae95ae7121a47"},
	{16, "cafebabefacedbad", "61353b4c2806934a777ff51fa22a4755699b2a714fcdc6f83766e5f97b6c742373806900e49f24b22b097544d4896b424989b5e1ebac0f07c23f4598", "3612d2e79e3b0785561be14aaca2fccb"},
	{16, gcmNonce60, "8ce24998625615b603a033aca13fb894be9112a5c3a211a8ba262a3cca7e2ca701e4a9a4fba43c90ccdcb281d48c7c6fd62875d2aca417034c34aee5", "619cc5aefffe0bfa462af43c1699d050"},
	{24, "", "", "cd33b28ac773f74ba00ed1f312572435"},
	{24, "", "98e7247c07f0fe411c267e4384b0f600", "2ff58d80033927ab8ef4d4587514f0fb"},
	{24, gcmNonce12, "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c7d773d00c144c525ac619d18c84a3f4718e2448b2fe324d9ccda2710acade256", "9924a7c8587336bfb118024db8674a14"},
	{24, gcmNonce12, "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c7d773d00c144c525ac619d18c84a3f4718e2448b2fe324d9ccda2710", "2519498e80f1478f37ba55bd6d27618c"},
	{24, "cafebabefacedbad", "0f10f599ae14a154ed24b36e25324db8c566632ef2bbb34f8347280fc4507057fddc29df9a471f75c66541d4d4dad1c9e93a19a58e8b473fa0f062f7", "65dcc57fcf623a24094fcca40d3533f8"},
	{24, gcmNonce60, "d27e88681ce3243c4830165a8fdcf9ff1de9a1d8e6b447ef6ef7b79828666e4581e79012af34ddd9e2f037589b292db3e67c036745fa22e7e9b7373b", "dcf566ff291c25bbb8568fc3d376a6d9"},
	{32, "", "", "530f8afbc74536b9a963b4f1c4cb738b"},
	{32, "", "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919"},
	{32, gcmNonce12, "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad", "b094dac5d93471bdec1a502270e3cc6c"},
	{32, gcmNonce12, "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662", "76fc6ece0f4e1768cddf8853bb2d551b"},
	{32, "cafebabefacedbad", "c3762df1ca787d32ae47c13bf19844cbaf1ae14d0b976afac52ff7d79bba9de0feb582d33934a4f0954cc2363bc73f7862ac430e64abe499f47c9b1f", "3a337dbf46a792c45e454913fe2ea8f2"},
	{32, gcmNonce60, "5a8def2f0c9e53f1f75d7853659e2a20eeb2b22aafde6419a058ab4f6f746bf40fc0c3b780f244452da3ebf1c5d82cdea2418997200ef82e44ae7e3f", "a44a8266ee1c8eb0c8b5d4cf5ae9f19a"},
}

func TestGCMVectors(t *testing.T) {
	for _, row := range kernel.AESGCMLevels.Rows {
		t.Run(row.Name, func(t *testing.T) {
			skipUnsupported(t, row)
			for i, v := range gcmVectors {
				key, nonce, ad := make([]byte, v.keySize), make([]byte, 12), []byte(nil)
				sealed := unhex(t, v.sealed+v.tag)
				text := make([]byte, len(v.sealed)/2)
				if v.nonce != "" {
					copy(key, unhex(t, gcmKey))
					nonce = unhex(t, v.nonce)
					if copy(text, unhex(t, gcmText)) == 60 {
						ad = unhex(t, gcmAD)
					}
				}
				a, err := NewAESGCM(kernel.Level(row.Level), key, len(nonce), tagSize)
				a = must(t, a, err)
				if got := a.Seal(nil, nonce, text, ad); !bytes.Equal(got, sealed) {
					t.Errorf("case %d: sealed %x, want %x", i+1, got, sealed)
				}
				if got, err := a.Open(nil, nonce, sealed, ad); err != nil || !bytes.Equal(got, text) {
					t.Errorf("case %d: opened %x, %v", i+1, got, err)
				}
			}
		})
	}
}

// TestNIST runs NIST's vectors for GCM. Their files have paragraphs: lengths in brackets, or one case with a line per
// field. Cases that are not authentic have FAIL in place of PT.
func TestNIST(t *testing.T) {
	files, err := filepath.Glob("../../test/vectors/nist/*.rsp")
	if err != nil || len(files) != 6 {
		t.Fatal(files, err)
	}
	var cases []map[string]string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, paragraph := range strings.Split(string(content), "\n\n") {
			fields := map[string]string{"file": filepath.Base(file)}
			for _, line := range strings.Split(paragraph, "\n") {
				name, value, _ := strings.Cut(line, " =")
				fields[name] = strings.TrimSpace(value)
			}
			if fields["Key"] != "" {
				cases = append(cases, fields)
			}
		}
	}
	if len(cases) != 1035 {
		t.Fatalf("%d cases, want 1035", len(cases))
	}
	for _, row := range kernel.AESGCMLevels.Rows {
		t.Run(row.Name, func(t *testing.T) {
			skipUnsupported(t, row)
			failures := 0
			for _, c := range cases {
				failures += runNIST(t, kernel.Level(row.Level), c)
			}
			if failures != 308 {
				t.Errorf("%d cases that are not authentic, want 308", failures)
			}
		})
	}
}

// runNIST returns 1 for a case that is not authentic.
func runNIST(t *testing.T, level kernel.Level, c map[string]string) int {
	t.Helper()
	name := c["file"] + " IV " + c["IV"]
	nonce, ad, text, tag := unhex(t, c["IV"]), unhex(t, c["AAD"]), unhex(t, c["PT"]), unhex(t, c["Tag"])
	sealed := append(unhex(t, c["CT"]), tag...)
	a, err := NewAESGCM(level, unhex(t, c["Key"]), len(nonce), len(tag))
	if err != nil {
		t.Fatal(name, err)
	}
	opened, err := a.Open(nil, nonce, sealed, ad)
	if _, forged := c["FAIL"]; forged {
		if err == nil {
			t.Errorf("%s: opened", name)
		}
		return 1
	}
	if err != nil || !bytes.Equal(opened, text) {
		t.Errorf("%s: opened %x, %v", name, opened, err)
	}
	if got := a.Seal(nil, nonce, text, ad); !bytes.Equal(got, sealed) {
		t.Errorf("%s: sealed %x, want %x", name, got, sealed)
	}
	return 0
}

type wycheproof struct {
	NumberOfTests int
	TestGroups    []struct {
		Tests []wycheproofTest
	}
}

type wycheproofTest struct {
	ID                         int `json:"tcId"`
	Comment, Result            string
	Key, IV, AAD, Msg, CT, Tag hexBytes
}

// TestWycheproof runs Project Wycheproof's vectors.
func TestWycheproof(t *testing.T) {
	for _, suite := range []struct {
		name, file string
		table      *dispatch.Table
		make       func(level kernel.Level, test wycheproofTest) (cipher.AEAD, error)
	}{
		{"ChaCha20", "chacha20_poly1305_test.json", &kernel.ChaCha20Poly1305Levels, func(level kernel.Level, test wycheproofTest) (cipher.AEAD, error) {
			return NewChaCha20Poly1305(level, test.Key)
		}},
		{"XChaCha20", "xchacha20_poly1305_test.json", &kernel.ChaCha20Poly1305Levels, func(level kernel.Level, test wycheproofTest) (cipher.AEAD, error) {
			return NewXChaCha20Poly1305(level, test.Key)
		}},
		{"AESGCM", "aes_gcm_test.json", &kernel.AESGCMLevels, func(level kernel.Level, test wycheproofTest) (cipher.AEAD, error) {
			return NewAESGCM(level, test.Key, len(test.IV), len(test.Tag))
		}},
	} {
		content, err := os.ReadFile("../../test/vectors/wycheproof/" + suite.file)
		if err != nil {
			t.Fatal(err)
		}
		var tests wycheproof
		if err := json.Unmarshal(content, &tests); err != nil {
			t.Fatal(err)
		}
		for _, row := range suite.table.Rows {
			t.Run(suite.name+"/"+row.Name, func(t *testing.T) {
				skipUnsupported(t, row)
				ran := 0
				for _, group := range tests.TestGroups {
					for _, test := range group.Tests {
						ran++
						a, err := suite.make(kernel.Level(row.Level), test)
						test.run(t, a, err)
					}
				}
				if ran != tests.NumberOfTests || ran < 300 {
					t.Errorf("%d tests ran, of %d", ran, tests.NumberOfTests)
				}
			})
		}
	}
}

func (test wycheproofTest) run(t *testing.T, a cipher.AEAD, err error) {
	if err != nil {
		if len(test.IV) != 0 || test.Result != "invalid" {
			t.Errorf("%d: %v", test.ID, err)
		}
		return
	}
	sealed := append(bytes.Clone(test.CT), test.Tag...)
	if len(test.IV) != a.NonceSize() {
		if test.Result != "invalid" || panics(func() { a.Seal(nil, test.IV, test.Msg, test.AAD) }) == "" ||
			panics(func() { a.Open(nil, test.IV, sealed, test.AAD) }) == "" {
			t.Errorf("%d: nonce of %d bytes accepted", test.ID, len(test.IV))
		}
		return
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
