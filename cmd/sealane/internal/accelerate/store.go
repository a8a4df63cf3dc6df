package accelerate

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// hash names a tree by its content.
func (t tree) hash() string {
	h := sha256.New()
	field := func(p []byte) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		h.Write(p)
	}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		field([]byte(name))
		field(t[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// store writes t below the user's cache folder, or below scratch if there is none to write to, and returns where. The
// same tree always gets the same place: the go command reuses what it compiled there, and programs are reproducible.
func (t tree) store(name, scratch string) (string, error) {
	if cache, err := os.UserCacheDir(); err == nil {
		if dir, err := t.storeBelow(filepath.Join(cache, "sealane"), name); err == nil {
			return dir, nil
		}
	}
	return t.storeBelow(scratch, name)
}

func (t tree) storeBelow(base, name string) (string, error) {
	dir := filepath.Join(base, name+"-"+t.hash())
	if t.stored(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", err
	}
	partial, err := os.MkdirTemp(base, "partial-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(partial)
	if err := t.write(partial); err != nil {
		return "", err
	}
	if err := os.RemoveAll(dir); err != nil { // someone changed it
		return "", err
	}
	if err := os.Rename(partial, dir); err != nil && !t.stored(dir) { // another build may have been quicker
		return "", err
	}
	return dir, nil
}

// stored says whether dir has exactly the files of t.
func (t tree) stored(dir string) bool {
	there := tree{}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		there[filepath.ToSlash(name)], err = os.ReadFile(file)
		return err
	})
	return err == nil && there.hash() == t.hash()
}

func (t tree) write(dir string) error {
	for name, content := range t {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o666); err != nil {
			return err
		}
	}
	return nil
}
