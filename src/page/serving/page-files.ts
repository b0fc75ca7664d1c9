import { hash } from 'node:crypto'
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { Worker } from 'node:worker_threads'

const IMPORT_MAP = /<script type="importmap">([^]*?)<\/script>/

/** One file, ready to be sent. */
export interface PageFile {
  /** The value of the header Content-Type. */
  readonly type: string
  readonly bytes: Uint8Array
  /** The value of the header ETag, with its quotes; it changes with the bytes. */
  readonly etag: string
}

/** Everything that a browser loads. */
export interface PageFiles {
  /** By the path below the page: empty for the document, `assets/main.ts` for a file. No other path is served. */
  readonly files: ReadonlyMap<string, PageFile>
  /** The value of the header Content-Security-Policy. */
  readonly policy: string
}

/** The documents that start a page: of one node, or of the cluster. */
export type PageDocument = 'index.html' | 'cluster.html'

const FOLDER = join(import.meta.dirname, '../files')

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  // Browsers get TypeScript files without their types.
  '.ts': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
}

/** The published files of libraries, by the path that the documents and their import map use. */
export const PAGE_LIBRARIES: Readonly<Record<string, string>> = {
  'assets/library/preact.mjs': 'preact',
  'assets/library/preact-hooks.mjs': 'preact/hooks',
  'assets/library/htm.mjs': 'htm',
  'assets/library/htm-preact.mjs': 'htm/preact',
  'assets/library/uplot.mjs': 'uplot/dist/uPlot.esm.js',
  'assets/library/uplot.css': 'uplot/dist/uPlot.min.css',
}

/** Reads the files once, for a server that keeps them. */
export async function readPageFiles({
  document = 'index.html',
}: {
  readonly document?: PageDocument
} = {}): Promise<PageFiles> {
  const [own, libraries] = await Promise.all([ownFiles(), libraryFiles()])
  const html = await readFile(join(FOLDER, document), 'utf8')
  const index = ['', fileOf(document, html)] as const
  return { files: new Map([index, ...own, ...libraries]), policy: securityPolicy(html) }
}

async function ownFiles() {
  const names = globSync('**/*.{ts,css,svg}', { cwd: FOLDER }).filter(
    (name) => !name.endsWith('.test.ts'),
  )
  const sources = names.filter((name) => extname(name) === '.ts')
  const stripped = await stripTypes(sources.map((name) => join(FOLDER, name)))
  const texts = new Map(sources.map((name, index) => [name, stripped[index]]))
  return Promise.all(
    names.map(async (name) => {
      const content = texts.get(name) ?? (await readFile(join(FOLDER, name)))
      return [`assets/${name}`, fileOf(name, content)] as const
    }),
  )
}

async function libraryFiles() {
  const files = Object.entries(PAGE_LIBRARIES).map(async ([path, name]) => {
    return [path, fileOf(path, await readFile(new URL(import.meta.resolve(name))))] as const
  })
  return Promise.all(files)
}

function fileOf(name: string, content: Uint8Array | string): PageFile {
  const type = TYPES[extname(name)]
  if (type === undefined) throw new TypeError(`${basename(name)}: no content type is known for it`)
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  return { type, bytes, etag: `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"` }
}

/**
 * Strips the types from TypeScript files, so that a browser can run them; line numbers stay the same. This happens in a
 * thread that ends afterwards, because the parser needs tens of megabytes and blocks its thread.
 */
function stripTypes(paths: readonly string[]): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('strip-worker.ts', import.meta.url), { workerData: paths })
    worker.once('message', (texts: readonly string[]) => resolve(texts))
    worker.once('error', reject)
    worker.once('exit', (code) => reject(new Error(`the thread that strips types exited: ${code}`)))
  })
}

/**
 * The Content-Security-Policy of a document: nothing from other origins, no inline script or style except the import
 * map of this document, and no text that becomes HTML.
 */
function securityPolicy(html: string): string {
  const map = IMPORT_MAP.exec(html)?.[1]
  const inline = map === undefined ? '' : ` 'sha256-${hash('sha256', map, 'base64')}'`
  return [
    "default-src 'none'",
    `script-src 'self'${inline}`,
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
}
