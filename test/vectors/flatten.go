//go:build ignore

// Flatten turns Wycheproof's AEAD files and NIST's for AES into lines that a C program reads without a parser for either:
//
//	algorithm number key nonce ad text ciphertext tag valid|invalid
//
// in hexadecimal, "-" for empty. Tags of NIST's that are shorter than 12 bytes are left out: they are refused. AES-ECB, AES-CBC and
// AES-XTS have no tag; the nonce is CBC's initial value and XTS's tweak, and the number is a file's and a case's.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

type file struct {
	Algorithm  string
	TestGroups []struct {
		Tests []struct {
			TcID                       int
			Key, IV, AAD, Msg, Ct, Tag string
			Result                     string
		}
	}
}

func main() {
	log.SetFlags(0)
	out := bufio.NewWriter(os.Stdout)
	for _, path := range os.Args[1:] {
		data, err := os.ReadFile(path)
		if err != nil {
			log.Fatal(err)
		}
		if strings.HasSuffix(path, ".rsp") {
			if name := strings.TrimSuffix(filepath.Base(path), ".rsp"); strings.HasPrefix(name, "gcm") {
				flattenNIST(out, string(data))
			} else {
				flattenMode(out, name, string(data))
			}
			continue
		}
		var f file
		if err := json.Unmarshal(data, &f); err != nil {
			log.Fatalf("%s: %v", path, err)
		}
		for _, group := range f.TestGroups {
			for _, t := range group.Tests {
				write(out, f.Algorithm, t.TcID, t.Key, t.IV, t.AAD, t.Msg, t.Ct, t.Tag, t.Result)
			}
		}
	}
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}

func write(out io.Writer, algorithm string, number any, fields ...string) {
	fmt.Fprint(out, algorithm, " ", number)
	for _, field := range fields {
		if field == "" {
			field = "-"
		}
		fmt.Fprint(out, " ", field)
	}
	fmt.Fprintln(out)
}

// flattenNIST takes two kinds of paragraphs: lengths in brackets, and a case with a line per field. In cases that are
// not authentic, FAIL stands in place of PT.
func flattenNIST(out io.Writer, text string) {
	for number, paragraph := range strings.Split(text, "\n\n") {
		f, result := map[string]string{}, "valid"
		for _, line := range strings.Split(paragraph, "\n") {
			name, value, _ := strings.Cut(line, " =")
			f[name] = strings.TrimSpace(value)
			if name == "FAIL" {
				result = "invalid"
			}
		}
		if len(f["Tag"]) >= 24 {
			write(out, "AES-GCM", number, f["Key"], f["IV"], f["AAD"], f["PT"], f["CT"], f["Tag"], result)
		}
	}
}

// flattenMode takes the files of ECB, CBC and XTS: paragraphs as above, of one case each.
func flattenMode(out io.Writer, name, text string) {
	cases := 0
	for _, paragraph := range strings.Split(text, "\n\n") {
		f := map[string]string{}
		for _, line := range strings.Split(paragraph, "\n") {
			field, value, _ := strings.Cut(line, " = ")
			f[strings.ToUpper(field)] = value
		}
		if f["KEY"] == "" {
			continue
		}
		nonce := f["IV"] + f["I"]
		if n := f["DATAUNITSEQNUMBER"]; n != "" {
			number, err := strconv.ParseUint(n, 10, 64)
			if err != nil {
				log.Fatalf("%s: %v", name, err)
			}
			nonce = fmt.Sprintf("%x", binary.LittleEndian.AppendUint64(nil, number)) + strings.Repeat("00", 8)
		}
		write(out, "AES-"+name[:3], fmt.Sprint(name, "/", cases), f["KEY"], nonce, "", f["PLAINTEXT"]+f["PT"], f["CIPHERTEXT"]+f["CT"], "", "valid")
		cases++
	}
}
