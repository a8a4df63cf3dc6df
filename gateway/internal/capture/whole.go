package capture

import "unsafe"

// virtioHeader is struct virtio_net_hdr.
const virtioHeader = 10

// Whole returns a frame with the header in front that says which checksums and which segmentation are still to be done;
// a packet socket with PACKET_VNET_HDR sends it so. The ring was opened with Headers.
func Whole(f *Frame) []byte {
	first := unsafe.Pointer(unsafe.SliceData(f.Data))
	return unsafe.Slice((*byte)(unsafe.Add(first, -virtioHeader)), virtioHeader+len(f.Data))
}

// Bare returns the frame in what Whole has returned, or in a copy of it; Whole may be asked for it again.
func Bare(whole []byte) []byte { return whole[virtioHeader:] }
