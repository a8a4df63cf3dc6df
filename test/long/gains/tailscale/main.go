// Command tailscale transfers a file by TCP between two devices of tailscale's wireguard-go, the one inside
// tailscaled. TCP/IP runs in the process at both ends, with UDP over 127.0.0.1 between them.
package main

import (
	"crypto/ecdh"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/tailscale/wireguard-go/conn"
	"github.com/tailscale/wireguard-go/device"
	"github.com/tailscale/wireguard-go/tun/netstack"

	"github.com/sealane/sealane/test/long/gains/measure"
)

func main() { measure.Main("chacha20poly1305", transfer) }

var addresses = [2]netip.Addr{netip.MustParseAddr("192.168.4.1"), netip.MustParseAddr("192.168.4.2")}

func transfer(suite string, size int64, begin func()) error {
	if suite != "chacha20poly1305" {
		return fmt.Errorf("WireGuard has no %s", suite)
	}
	networks, err := connect()
	if err != nil {
		return err
	}
	listener, err := networks[0].ListenTCP(&net.TCPAddr{Port: 80})
	if err != nil {
		return err
	}
	errs := make(chan error, 1)
	go func() {
		c, err := listener.Accept()
		if err == nil {
			err = measure.Write(c, size)
		}
		if err == nil {
			err = c.Close()
		}
		errs <- err
	}()
	c, err := networks[1].DialTCPAddrPort(netip.AddrPortFrom(addresses[0], 80)) // with WireGuard's handshake
	if err != nil {
		return err
	}
	begin()
	if err := measure.Check(c, size); err != nil {
		return err
	}
	return <-errs
}

// connect returns the networks of two devices that are each other's peers.
func connect() (networks [2]*netstack.Net, err error) {
	var keys [2]*ecdh.PrivateKey
	var devices [2]*device.Device
	for i := range devices {
		if keys[i], err = ecdh.X25519().GenerateKey(rand.Reader); err != nil {
			return networks, err
		}
		tun, network, err := netstack.CreateNetTUN([]netip.Addr{addresses[i]}, nil, device.DefaultMTU)
		if err != nil {
			return networks, err
		}
		networks[i] = network
		devices[i] = device.NewDevice(tun, conn.NewDefaultBind(), device.NewLogger(device.LogLevelError, "wireguard: "))
	}
	// Each device is given the other's address. tailscaled does this too, because its device does not learn addresses
	// from packets.
	var ports [2]string
	for i, d := range devices {
		if err := d.IpcSet(fmt.Sprintf("private_key=%x\n", keys[i].Bytes())); err != nil {
			return networks, err
		}
		if err := d.Up(); err != nil {
			return networks, err
		}
		if ports[i], err = listenPort(d); err != nil {
			return networks, err
		}
	}
	for i, d := range devices {
		peer := fmt.Sprintf("public_key=%x\nallowed_ip=%s/32\nendpoint=127.0.0.1:%s\n", keys[1-i].PublicKey().Bytes(), addresses[1-i], ports[1-i])
		if err := d.IpcSet(peer); err != nil {
			return networks, err
		}
	}
	return networks, nil
}

func listenPort(d *device.Device) (string, error) {
	state, err := d.IpcGet()
	if err != nil {
		return "", err
	}
	for _, line := range strings.Split(state, "\n") {
		if port, ok := strings.CutPrefix(line, "listen_port="); ok && port != "0" {
			return port, nil
		}
	}
	return "", errors.New("the device does not listen")
}
