import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { usageError } from '../usage/usage-error.ts'
import type { Manifest } from './manifest.ts'
import { parseManifests, type Source } from './parse-manifests.ts'

export interface FileFlags {
  /** `-f`: files, folders, `-` for the standard input. */
  readonly filename?: readonly string[]
  /** Whether folders are read with those inside of them. */
  readonly recursive?: boolean
}

type Stdin = AsyncIterable<Uint8Array | string>

const SIZE_LIMIT = 64 * 1024 * 1024
const MAX_DEPTH = 20
const ENDINGS = /\.(?:ya?ml|json)$/i

/** The objects of the files, in their order. @throws NP_ORCHCTL_MANIFEST, NP_ORCHCTL_USAGE */
export async function readManifests(
  { filename = [], recursive = false }: FileFlags,
  stdin: Stdin,
): Promise<readonly Manifest[]> {
  const manifests: Manifest[] = []
  for (const name of filename) {
    for (const source of await sourcesOf(name, recursive, stdin)) {
      manifests.push(...parseManifests(source))
    }
  }
  if (manifests.length === 0) {
    throw new NodeProxyError('NP_ORCHCTL_MANIFEST', `${filename.join(', ')}: there is no object`)
  }
  return manifests
}

async function sourcesOf(
  name: string,
  recursive: boolean,
  stdin: Stdin,
): Promise<readonly Source[]> {
  if (name === '-') return [{ file: 'standard input', text: await streamText(stdin) }]
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(name)) {
    const hint = 'download it, read it, and apply the file'
    throw usageError(`-f ${quote(name)} is a URL, which is never fetched`, hint)
  }
  const files = await filesIn(name, recursive, 0)
  return Promise.all(files.map(async (file) => ({ file, text: await fileText(file) })))
}

/** The file itself, or the manifests of a folder in the order of their names. */
async function filesIn(
  path: string,
  recursive: boolean,
  depth: number,
): Promise<readonly string[]> {
  const found = await stat(path).catch((error: unknown) => unreadable(path, error))
  if (!found.isDirectory()) return [path]
  if (depth > MAX_DEPTH) throw usageError(`${quote(path)} is nested too deeply`)
  const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) =>
    unreadable(path, error),
  )
  const files: string[] = []
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const inner = join(path, entry.name)
    if (entry.isDirectory()) {
      if (recursive) files.push(...(await filesIn(inner, recursive, depth + 1)))
    } else if (ENDINGS.test(entry.name)) files.push(inner)
  }
  return files
}

async function fileText(path: string): Promise<string> {
  const bytes = await readFile(path).catch((error: unknown) => unreadable(path, error))
  return limited(bytes, path)
}

async function streamText(stdin: Stdin): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of stdin) {
    parts.push(Buffer.from(part))
    size += part.length
    if (size > SIZE_LIMIT) break
  }
  return limited(Buffer.concat(parts), 'standard input')
}

function limited(bytes: Buffer, name: string): string {
  if (bytes.length <= SIZE_LIMIT) return bytes.toString('utf8')
  throw new NodeProxyError('NP_ORCHCTL_MANIFEST', `${name} is larger than ${SIZE_LIMIT} bytes`)
}

function unreadable(path: string, error: unknown): never {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
  throw new NodeProxyError('NP_ORCHCTL_MANIFEST', `${quote(path)} cannot be read: ${code}`, {
    hint: 'check the path that -f names',
  })
}
