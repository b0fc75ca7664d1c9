import { WireFault } from './wire-fault.ts'
import { BYTES, WireReader } from './wire-reader.ts'

/** What stands around every object: its type and how its bytes are encoded. */
export interface Envelope {
  readonly apiVersion: string
  readonly kind: string
  /** A compression of the object; none is in use. */
  readonly contentEncoding: string
  readonly object: WireReader
}

const MAGIC = Buffer.from([0x6b, 0x38, 0x73, 0x00])

/** Reads the magic bytes and the `runtime.Unknown` behind them. */
export function readEnvelope(body: Buffer): Envelope {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw new WireFault(0, 'it does not start with 6b 38 73 00')
  }
  const reader = new WireReader(body, MAGIC.length)
  const type = { apiVersion: '', kind: '' }
  let object = new WireReader(body, body.length)
  let contentEncoding = ''
  while (!reader.isAtEnd) {
    const { number, wireType } = reader.tag()
    if (wireType !== BYTES) reader.skip(wireType)
    else if (number === 1) readTypeMeta(reader.message(), type)
    else if (number === 2) object = reader.message()
    else if (number === 3) contentEncoding = reader.text()
    else reader.skip(wireType)
  }
  return { ...type, contentEncoding, object }
}

function readTypeMeta(reader: WireReader, type: { apiVersion: string; kind: string }): void {
  while (!reader.isAtEnd) {
    const { number, wireType } = reader.tag()
    if (number === 1 && wireType === BYTES) type.apiVersion = reader.text()
    else if (number === 2 && wireType === BYTES) type.kind = reader.text()
    else reader.skip(wireType)
  }
}
