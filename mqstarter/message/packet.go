package message

// Packet is the form of the records that hold entries: Canal's Packet around
// its Messages. Which one it has, Canal decides by configuration.
type Packet struct {
	// Raw is the form of a batch whose entries Canal has as bytes: it has the
	// batch's number and no version. Otherwise it is put together anew.
	Raw bool
}

// AppendPacket appends what stands in a record before its entries, which take
// size bytes together, each as AppendFrame has it. id is the batch's number.
func (p Packet) AppendPacket(dst []byte, id uint64, size int) []byte {
	const typeMessages = "\x18\x07"
	if !p.Raw {
		dst = append(dst, "\x10\x01"+typeMessages...)
		if size == 0 {
			return dst
		}
		return appendVarint(dst, 0x2a, uint64(size))
	}
	dst = append(dst, typeMessages...)
	number := appendVarint(make([]byte, 0, 11), 0x08, id)
	return append(appendVarint(dst, 0x2a, uint64(len(number)+size)), number...)
}

// PacketOverhead is what AppendPacket appends at most.
const PacketOverhead = 32

// AppendFrame appends the entry of some rows as Proto.Append does, as it stands
// in a record.
func (p *Proto) AppendFrame(dst []byte, rows []int) ([]byte, error) {
	at := len(dst) + 1
	dst, err := p.Append(append(dst, 0x12, 0, 0), rows)
	return closeLength(dst, at, 2), err
}

// AppendKeyFrame appends the entry of one row as AppendFrame does, with the
// columns of its primary key alone, and no image before it of an update. It
// returns ErrNoKey for a row that has none.
func (p *Proto) AppendKeyFrame(dst []byte, row int) ([]byte, error) {
	if p.parts == nil {
		return dst, ErrNoKey
	}
	p.keyOnly = true
	defer func() { p.keyOnly = false }()
	return p.AppendFrame(dst, []int{row})
}
