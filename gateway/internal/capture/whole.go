package capture

import "unsafe"

// virtioHeader is struct virtio_net_hdr.
const virtioHeader = 10

// Whole returns a frame with a header that states its pending checksums and segmentation. A packet socket with
// PACKET_VNET_HDR can send it. The ring must have been opened with Headers.
func Whole(f *Frame) []byte {
	first := unsafe.Pointer(unsafe.SliceData(f.Data))
	return unsafe.Slice((*byte)(unsafe.Add(first, -virtioHeader)), virtioHeader+len(f.Data))
}

// Bare returns the frame without the header that Whole added, also for a copy. The result can be passed to Whole again.
func Bare(whole []byte) []byte { return whole[virtioHeader:] }
