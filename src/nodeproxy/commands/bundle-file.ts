import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import tar from 'tar-stream'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'

/** The most characters that all files of a bundle may have together: ten times those of a node with 50,000 Services. */
const MAX_SIZE = 1_000_000_000

/** Texts by their file names. */
export type BundleFiles = ReadonlyMap<string, string>

/**
 * Writes the files as an archive (`tar`, `gzip`) that only its owner may read. Throws NP_NODEPROXY_BUNDLE, also when
 * `path` exists already.
 */
export async function writeBundle(path: string, files: BundleFiles, at: Date): Promise<void> {
  const pack = tar.pack()
  try {
    const file = await open(path, 'wx', 0o600)
    for (const [name, content] of files) pack.entry({ name, mode: 0o600, mtime: at }, content)
    pack.finalize()
    await pipeline(pack, createGzip(), file.createWriteStream())
  } catch (error) {
    throw bundleError('cannot be written', path, error)
  }
}

/** Reads the files of a bundle. Throws NP_NODEPROXY_BUNDLE. */
export async function readBundle(path: string): Promise<BundleFiles> {
  const files = new Map<string, string>()
  const extract = tar.extract()
  let size = 0
  const reading = pipeline(createReadStream(path), createGunzip(), extract)
  // The loop below ends with the same error.
  reading.catch(() => undefined)
  try {
    for await (const entry of extract) {
      size += entry.header.size ?? 0
      if (size > MAX_SIZE) throw new Error(`it holds more than ${MAX_SIZE} bytes`)
      files.set(entry.header.name, await text(entry))
    }
    await reading
    return files
  } catch (error) {
    throw bundleError('is not a bundle of node-proxy record', path, error)
  }
}

/** NP_NODEPROXY_BUNDLE. */
export function bundleError(what: string, path: string, error: unknown): NodeProxyError {
  const reason = quote(error instanceof Error ? error.message : error)
  return new NodeProxyError('NP_NODEPROXY_BUNDLE', `${quote(path)} ${what}: ${reason}`, {
    object: path,
    hint: 'give record the path of a new file, and explain the path of a complete file that node-proxy record wrote',
    cause: error,
  })
}
