import { constants, inflateRawSync } from 'node:zlib'
import { NodeProxyError } from '../../lib/error.ts'

/** A violation of SPDY/3.1 by the peer, which ends the session. */
export function spdyFault(why: string): NodeProxyError {
  return new NodeProxyError('NP_STREAMS_SPDY', `the peer broke the protocol SPDY/3.1: ${why}`)
}

const WORDS =
  'options head post put delete trace accept accept-charset accept-encoding accept-language ' +
  'accept-ranges age allow authorization cache-control connection content-base content-encoding ' +
  'content-language content-length content-location content-md5 content-range content-type date ' +
  'etag expect expires from host if-match if-modified-since if-none-match if-range ' +
  'if-unmodified-since last-modified location max-forwards pragma proxy-authenticate ' +
  'proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade ' +
  'user-agent vary via warning www-authenticate method get status 200\u00a0OK version HTTP/1.1 url ' +
  'public set-cookie keep-alive origin'

const REST =
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505' +
  '203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 ' +
  'Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service ' +
  'UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, ' +
  'Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,application/' +
  'xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8' +
  'charset=iso-8859-1,utf-,*,enq=0.'

/**
 * The dictionary with which both ends of a SPDY/3 session initialize the compression of header blocks (SPDY/3,
 * section 2.6.10).
 */
export const HEADER_DICTIONARY = Buffer.concat([
  ...WORDS.split(' ').map((word) => withLength(word.replace('\u00a0', ' '))),
  Buffer.from(REST),
])

/** The beginning of a zlib stream with this dictionary: the header, and the dictionary's Adler-32. */
export const ZLIB_HEADER = Buffer.from([0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2])

/** Headers of a stream, by their names in lower case. */
export type SpdyHeaders = ReadonlyMap<string, string>

/** Bytes of one header block when it is decompressed. */
const MAX_BLOCK_BYTES = 64 << 10
/** As far back as a compressed block may refer. */
const WINDOW_BYTES = 32 << 10
/** A stored block of deflate has a length of 16 bits. */
const MAX_STORED_BYTES = 0xffff
/** The end of a flushed block; the next one then begins at a byte boundary. */
const FLUSHED = Buffer.from([0x00, 0x00, 0xff, 0xff])

/**
 * Reads the header blocks of one direction of a session, in their order: they are one zlib stream, so
 * each refers to the ones before it. Throws NP_STREAMS_SPDY for a block that is invalid or too large.
 */
export class HeaderBlockReader {
  #window = HEADER_DICTIONARY
  #isFirst = true

  read(block: Buffer): SpdyHeaders {
    const plain = this.#inflate(this.#isFirst ? withoutZlibHeader(block) : block)
    this.#isFirst = false
    this.#window = Buffer.concat([this.#window, plain]).subarray(-WINDOW_BYTES)
    return parseHeaders(plain)
  }

  #inflate(block: Buffer): Buffer {
    if (!block.subarray(-FLUSHED.length).equals(FLUSHED)) {
      throw spdyFault('a header block was not flushed')
    }
    try {
      return inflateRawSync(block, {
        dictionary: this.#window,
        finishFlush: constants.Z_SYNC_FLUSH,
        maxOutputLength: MAX_BLOCK_BYTES,
      })
    } catch {
      throw spdyFault('a header block cannot be decompressed, or is too large')
    }
  }
}

/**
 * Writes the header blocks of one direction of a session. They are stored, not compressed: the length of compressed
 * headers can reveal a secret among them (CRIME).
 */
export class HeaderBlockWriter {
  #isFirst = true

  write(headers: SpdyHeaders): Buffer {
    const plain = plainHeaders(headers)
    if (plain.length > MAX_STORED_BYTES) throw new TypeError('the headers of a stream are too long')
    const size = Buffer.alloc(5)
    size.writeUInt16LE(plain.length, 1)
    size.writeUInt16LE(plain.length ^ MAX_STORED_BYTES, 3)
    const begin = this.#isFirst ? [ZLIB_HEADER] : []
    this.#isFirst = false
    return Buffer.concat([...begin, size, plain, Buffer.from([0]), FLUSHED])
  }
}

function withoutZlibHeader(block: Buffer): Buffer {
  const [method = 0, flags = 0] = block
  const isZlib = (method & 0x0f) === 8 && ((method << 8) | flags) % 31 === 0
  const dictionary = ZLIB_HEADER.subarray(2)
  if (!isZlib || (flags & 0x20) === 0 || !block.subarray(2, 6).equals(dictionary)) {
    throw spdyFault('the first header block is compressed in another way')
  }
  return block.subarray(ZLIB_HEADER.length)
}

function parseHeaders(plain: Buffer): SpdyHeaders {
  const headers = new Map<string, string>()
  let at = 0
  const number = (): number => {
    if (at + 4 > plain.length) throw spdyFault('a header block ends too soon')
    at += 4
    return plain.readUInt32BE(at - 4)
  }
  const text = (): string => {
    const length = number()
    if (length > plain.length - at) throw spdyFault('a header is longer than its block')
    at += length
    return plain.toString('utf8', at - length, at)
  }
  const count = number()
  for (let index = 0; index < count; index++) {
    const name = text().toLowerCase()
    if (name === '' || headers.has(name)) throw spdyFault('a header is empty or repeated')
    headers.set(name, text())
  }
  if (at !== plain.length) throw spdyFault('a header block is longer than its headers')
  return headers
}

function plainHeaders(headers: SpdyHeaders): Buffer {
  const parts = [uint32(headers.size)]
  for (const pair of headers) {
    for (const text of pair) {
      const bytes = Buffer.from(text)
      parts.push(uint32(bytes.length), bytes)
    }
  }
  return Buffer.concat(parts)
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function withLength(word: string): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(word.length)
  return Buffer.concat([length, Buffer.from(word)])
}
