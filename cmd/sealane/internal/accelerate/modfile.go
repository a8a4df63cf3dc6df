package accelerate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// moduleFlags tell the go command which modfile to read. A workspace is passed in the environment instead.
func (b *build) moduleFlags() []string {
	if b.workspace() {
		return nil
	}
	flags := []string{"-modfile=" + b.modfile}
	if b.mode != "" {
		flags = append(flags, "-mod="+b.mode)
	}
	return flags
}

// goFlags are moduleFlags and the overlay.
func (b *build) goFlags() []string {
	flags := b.moduleFlags()
	if b.overlay != "" {
		flags = append(flags, "-overlay="+b.overlay)
	}
	return flags
}

// incomplete reports whether the go command failed only because it could not complete the modfile.
func (b *build) incomplete(err error) bool {
	return !b.workspace() && b.mode != "mod" &&
		(strings.Contains(err.Error(), "updates to go.mod needed") || strings.Contains(err.Error(), "missing go.sum entry"))
}

// vendored refuses builds from a vendor folder, where nothing can be replaced.
func (b *build) vendored(root string) error {
	_, err := os.Stat(filepath.Join(root, "vendor", "modules.txt"))
	if b.mode == "vendor" || b.mode == "" && err == nil {
		fromCache := "mod"
		if b.workspace() { // workspaces do not support -mod=mod
			fromCache = "readonly"
		}
		return fmt.Errorf("the build would use %s, and sealane cannot replace vendored packages: add -- -mod=%s to build from the module cache",
			filepath.Join(root, "vendor"), fromCache)
	}
	return nil
}

type modfile struct {
	Module  struct{ Path string }
	Use     []struct{ DiskPath string }
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

func isLocal(path string) bool {
	return strings.HasPrefix(path, "./") || strings.HasPrefix(path, "../") || path == "." || path == ".." || filepath.IsAbs(path)
}

// copyModule makes the modfile a copy of go.mod, with its go.sum beside it.
func (b *build) copyModule() error {
	if err := b.vendored(filepath.Dir(b.env.GOMOD)); err != nil {
		return err
	}
	original := b.env.GOMOD
	if b.userModfile != "" {
		original = b.userModfile
		if !filepath.IsAbs(original) {
			original = filepath.Join(b.dir, original)
		}
	}
	if filepath.Ext(original) != ".mod" {
		return fmt.Errorf("-modfile=%s: the file's name must end in .mod", b.userModfile)
	}
	b.modfile = filepath.Join(b.scratch, "module", "go.mod")
	b.named[b.modfile] = original
	if err := copyFile(original, b.modfile); err != nil {
		return err
	}
	sum := strings.TrimSuffix(original, ".mod") + ".sum"
	if err := copyFile(sum, b.sumFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var mod modfile
	if err := b.json(&mod, "mod", "edit", "-json", b.modfile); err != nil {
		return err
	}
	for _, r := range mod.Replace {
		if strings.Contains(b.job.Package, "@") && isLocal(r.New.Path) {
			return fmt.Errorf("%s replaces %s with the folder %s, which only its repository has: clone it and run sealane build there", mod.Module.Path, r.Old.Path, r.New.Path)
		}
	}
	return nil
}

// copyWorkspace makes the modfile a copy of go.work, with the same folders.
func (b *build) copyWorkspace() error {
	root := filepath.Dir(b.env.GOWORK)
	if err := b.vendored(root); err != nil {
		return err
	}
	if b.mode == "mod" {
		return errors.New("-mod=mod cannot be used in a workspace: set GOWORK=off as well")
	}
	if b.userModfile != "" {
		return errors.New("-modfile cannot be used in a workspace: set GOWORK=off as well")
	}
	b.modfile = filepath.Join(b.scratch, "module", "go.work")
	b.named[b.modfile] = b.env.GOWORK
	if err := copyFile(b.env.GOWORK, b.modfile); err != nil {
		return err
	}
	if err := copyFile(b.env.GOWORK+".sum", b.sumFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var work modfile
	if err := b.json(&work, "work", "edit", "-json", b.modfile); err != nil {
		return err
	}
	absolute := func(dir string) string {
		if filepath.IsAbs(dir) {
			return dir
		}
		return filepath.Join(root, filepath.FromSlash(dir))
	}
	edit := []string{"work", "edit"}
	for _, u := range work.Use {
		edit = append(edit, "-dropuse="+u.DiskPath, "-use="+absolute(u.DiskPath))
	}
	for _, r := range work.Replace {
		if isLocal(r.New.Path) {
			edit = append(edit, "-replace="+versioned(r.Old.Path, r.Old.Version)+"="+absolute(r.New.Path))
		}
	}
	if len(edit) > 2 {
		if _, err := b.output(append(edit, b.modfile)...); err != nil {
			return err
		}
	}
	b.environ = append(b.environ, "GOWORK="+b.modfile)
	return nil
}

func versioned(path, version string) string {
	if version == "" {
		return path
	}
	return path + "@" + version
}

// replace copies the program's x/crypto, if it has one, makes the copy call sealane, and puts both in the modfile.
func (b *build) replace(crypto *module) error {
	if crypto == nil {
		crypto = &module{}
	}
	b.crypto = crypto.Version
	path, version := crypto.Path, crypto.Version
	if crypto.Main {
		b.crypto = "of " + crypto.Dir
	} else if r := crypto.Replace; r != nil {
		b.crypto += " (" + versioned(r.Path, r.Version) + ")"
		if r.Version != "" {
			path, version = r.Path, r.Version
		}
	}
	var own module
	uses := b.json(&own, append(append([]string{"list", "-m", "-json"}, b.moduleFlags()...), sealaneModule)...) == nil // the program requires sealane itself
	copied := tree{}
	var edit []string
	if crypto.Path != "" {
		var err error
		if copied, b.sshKept, err = cryptoSource(crypto.Dir, crypto.Main, !uses); err != nil {
			return err
		}
		if edit, err = b.drop(cryptoModule); err != nil {
			return err
		}
	}
	if !uses {
		source, err := sealaneSource()
		if err != nil {
			return err
		}
		if b.job.plant != nil {
			b.job.plant(source)
		}
		served, err := b.serve(sealaneModule, b.version(), source)
		if err != nil {
			return err
		}
		require := sealaneModule + " " + b.version()
		if copied["go.mod"] == nil { // the module predates go.mod files
			copied["go.mod"] = []byte("module " + cryptoModule + "\n")
		}
		b.require = "\nrequire " + require + "\n"
		copied["go.mod"] = append(copied["go.mod"], b.require...)
		if crypto.Path != "" && b.oldSys() {
			copied["go.mod"] = append(copied["go.mod"], "\nrequire "+sysModule+" "+oldestSys+"\n"...)
			if !b.workspace() {
				b.mode = "mod"
			}
		}
		if !b.workspace() {
			edit = append(edit, "-require="+strings.Replace(require, " ", "@", 1))
		}
		edit = append(edit, "-replace="+sealaneModule+"="+served)
	} else if b.job.Std {
		return fmt.Errorf("%s requires %s itself: --std cannot give the standard library another copy of it; build without --std", b.program, sealaneModule)
	}
	switch {
	case crypto.Path == "":
	case crypto.Main:
		inside, err := filepath.Rel(crypto.Dir, b.dir)
		if err != nil {
			return err
		}
		dir := filepath.Join(b.scratch, "main")
		if err := copied.write(dir); err != nil {
			return err
		}
		b.dir = filepath.Join(dir, inside)
	default:
		served, err := b.serve(path, version, copied)
		if err != nil {
			return err
		}
		edit = append(edit, "-replace="+cryptoModule+"="+served)
	}
	if b.workspace() && crypto.Path == "" {
		// A module of the workspace must require sealane.
		dir := filepath.Join(b.scratch, "requires")
		if err := (tree{"go.mod": []byte("module " + sealaneModule + "/requires\n\ngo 1.17\n\nrequire " + sealaneModule + " " + b.version() + "\n")}).write(dir); err != nil {
			return err
		}
		edit = append(edit, "-use="+dir)
	}
	kind := strings.TrimPrefix(filepath.Ext(b.modfile), ".")
	_, err := b.output(append(append([]string{kind, "edit"}, edit...), b.modfile)...)
	return err
}

// replaceModule makes the program use a copy of one of its modules.
func (b *build) replaceModule(m *module, copied tree) (err error) {
	var edit []string
	switch {
	case m.Main:
		dir := filepath.Join(b.scratch, "main")
		if err := copied.write(dir); err != nil {
			return err
		}
		if inside, err := filepath.Rel(m.Dir, b.dir); err == nil && filepath.IsLocal(inside) {
			b.dir = filepath.Join(dir, inside)
		}
		if !b.workspace() {
			return nil
		}
		edit = []string{"-dropuse=" + m.Dir, "-use=" + dir}
	default:
		if edit, err = b.drop(m.Path); err != nil {
			return err
		}
		path, version := m.Path, m.Version
		if r := m.Replace; r != nil && r.Version != "" {
			path, version = r.Path, r.Version
		}
		served, err := b.serve(path, version, copied)
		if err != nil {
			return err
		}
		edit = append(edit, "-replace="+m.Path+"="+served)
	}
	kind := strings.TrimPrefix(filepath.Ext(b.modfile), ".")
	_, err = b.output(append(append([]string{kind, "edit"}, edit...), b.modfile)...)
	return err
}

// drop returns the edits that remove existing replacements of a module from the modfile.
func (b *build) drop(path string) (edit []string, err error) {
	var has modfile
	kind := strings.TrimPrefix(filepath.Ext(b.modfile), ".")
	if err := b.json(&has, kind, "edit", "-json", b.modfile); err != nil {
		return nil, err
	}
	for _, r := range has.Replace {
		if r.Old.Path == path {
			edit = append(edit, "-dropreplace="+versioned(path, r.Old.Version))
		}
	}
	return edit, nil
}

// oldSys reports whether the program's version of x/sys is too old for sealane.
func (b *build) oldSys() bool {
	var sys module
	err := b.json(&sys, append(append([]string{"list", "-m", "-json"}, b.moduleFlags()...), sysModule)...)
	return err != nil || older(sys.Version, oldestSys) && sys.Replace == nil
}

// older compares versions of x/sys, which are all v0.
func older(version, than string) bool {
	var major, minor, thanMajor, thanMinor int
	if _, err := fmt.Sscanf(version, "v%d.%d", &major, &minor); err != nil {
		return false // a folder, which has no version
	}
	fmt.Sscanf(than, "v%d.%d", &thanMajor, &thanMinor)
	return major < thanMajor || major == thanMajor && minor < thanMinor
}

// version returns sealane's version in a form that a modfile allows.
func (b *build) version() string {
	if regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`).MatchString(b.job.Version) {
		return b.job.Version
	}
	return "v0.0.0"
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o666)
}
