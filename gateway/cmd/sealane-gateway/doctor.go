package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/doctor"
	"github.com/sealane/sealane/gateway/internal/keys"
)

func init() { commands = append(commands, doctorCommand) }

func doctorCommand() *cobra.Command {
	var (
		from keySources
		face string
		wait time.Duration
		one  bool
	)
	cmd := &cobra.Command{
		Use:   "doctor [CAPTURE]",
		Short: "Explain why connections are not decrypted",
		Long: "doctor reads a capture, or an interface for some seconds, and explains why TLS connections in it are not decrypted, " +
			"with a remedy for each reason. It writes no plaintext.",
		Example: "  sealane-gateway doctor --interface eth0 --keys sslkeys.log\n" +
			"  sealane-gateway doctor capture.pcap --keys sslkeys.log",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == (face != "") {
				return errors.New("name a capture, or an interface by --interface NAME")
			}
			if wait <= 0 || wait > time.Hour {
				return fmt.Errorf("--for %v: must be above 0 and at most 1h", wait)
			}
			if err := checkSizes(1, &from); err != nil {
				return err
			}
			store := keys.NewStore(from.limit)
			d := doctor.New(store, one)
			if face != "" {
				// Keys are read after the packets, because the connections write them in the meantime.
				seen, err := watch(cmd.Context(), face, wait)
				if err != nil {
					return err
				}
				d.Dropped = seen.dropped
				from.examine(d)
				d.Frames(seen.frames)
			} else {
				from.examine(d)
				var in io.Reader = os.Stdin
				if args[0] != "-" {
					f, err := os.Open(args[0])
					if err != nil {
						return err
					}
					defer f.Close()
					in = f
				}
				if err := examineCapture(d, in); err != nil {
					d.Note(doctor.Finding{Cause: "damaged capture", Count: 1, Of: args[0], What: "The capture cannot be read to its end: " + err.Error() + ".",
						Do: "Capture again, and stop tcpdump with Ctrl-C; everything before the damage was read."})
				}
			}
			_, err := cmd.OutOrStdout().Write(diagnosis(d))
			return err
		},
	}
	f := cmd.Flags()
	from.flags(f)
	f.StringVarP(&face, "interface", "i", "", "read from this interface")
	f.DurationVar(&wait, "for", 10*time.Second, "how long to read from --interface")
	f.BoolVar(&one, "one-network", false, oneNetworkUsage)
	return cmd
}

// A watched is the traffic of an interface.
type watched struct {
	frames  []capture.Frame
	dropped uint64 // packets that the kernel dropped
}

// examine reads all key logs. An error in one is reported as a finding.
func (k *keySources) examine(d *doctor.Doctor) {
	for _, name := range k.files {
		note := doctor.Finding{Count: 1, Of: name}
		f, err := os.Open(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			note.Cause, note.What = "no such key log", "The key log does not exist."
			note.Do = "A program creates it at its first connection: check that SSLKEYLOGFILE is in its environment."
		case err != nil:
			note.Cause, note.What, note.Do = "unreadable key log", "The key log cannot be read: "+err.Error()+".", "Run this as the user that owns the key log, or as root."
		default:
			if err := k.check(f); err != nil {
				note.Cause, note.What = "key log of everybody", "Other users can read the key log, and live and read refuse it."
				note.Do = "Run chmod 600 on it."
				d.Note(note)
			}
			err = d.Keys(name, f)
			f.Close()
			if err == nil {
				continue
			}
			note.Cause, note.What, note.Do = "unreadable key log", "The key log cannot be read: "+err.Error()+".", "Give the name of a file."
		}
		d.Note(note)
	}
}

func examineCapture(d *doctor.Doctor, in io.Reader) error {
	r, err := capture.NewReader(in)
	if err != nil {
		return err
	}
	r.Secrets = func(b []byte) { d.Keys("the capture's own key log", bytes.NewReader(b)) }
	var b capture.Block
	for {
		if err := r.ReadBlock(&b); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		d.Frames(b.Frames)
	}
}

// diagnosis formats the findings of the doctor.
func diagnosis(d *doctor.Doctor) []byte {
	s, all := d.Findings()
	b := fmt.Appendf(nil, "%d packets, %d TCP connections, %d of them TLS, %d decrypted; %d secrets in key logs\n", s.Packets, s.TCP, s.TLS, s.Decrypted, s.Secrets)
	if s.BadLines > 0 {
		b = fmt.Appendf(b, "%d lines of the key logs are invalid\n", s.BadLines)
	}
	if s.Unseen > 0 {
		b = fmt.Appendf(b, "%d packets were skipped because there are too many connections\n", s.Unseen)
	}
	for _, f := range all {
		b = fmt.Appendf(b, "\n%s (%d): %s\n", f.Cause, f.Count, f.What)
		if f.Of != "" {
			b = fmt.Appendf(b, "    for example %s\n", f.Of)
		}
		b = fmt.Appendf(b, "    %s\n", f.Do)
	}
	if s.TLS > 0 && s.Decrypted == s.TLS {
		b = append(b, "\nAll TLS connections are decrypted.\n"...)
	}
	return b
}
