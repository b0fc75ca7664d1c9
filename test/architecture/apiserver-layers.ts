import { posix } from 'node:path'
import { importsOf } from './module-import.ts'
import { isTest, type SourceFile } from './source-file.ts'
import type { Edge } from './structure.ts'

/** One folder of `src/apiserver`; its files import from the folders after it in the order. */
export interface Layer {
  /** Below `src/apiserver`; empty: the files beside the folders. */
  readonly folder: string
  readonly holds: string
  /** The folder does not exist yet: its place in the order is reserved. */
  readonly planned?: true
}

/** The way of a request, top to bottom. An import, types included, goes down this list. */
export const apiserverLayers: readonly Layer[] = [
  { folder: '', holds: 'the composition of a server, and its process' },
  {
    folder: 'background',
    holds: 'expiry, repair of allocations, the objects that the server keeps',
  },
  { folder: 'http', holds: 'sockets, routes, request targets, bodies, answers, time limits' },
  { folder: 'metrics', holds: 'what is counted, and /metrics' },
  { folder: 'health', holds: 'health checks, the life of the server, the health of the store' },
  { folder: 'authentication', holds: 'who sends the request' },
  { folder: 'audit', holds: 'the record of requests and who sent them' },
  { folder: 'flow-control', holds: 'how many requests run at one time, and who waits' },
  {
    folder: 'connect',
    holds: 'logs of Pods, commands in them, connections to them, requests forwarded to nodes',
  },
  { folder: 'openapi', holds: 'schemas that clients read' },
  { folder: 'discovery', holds: 'groups, versions and resources that clients read' },
  { folder: 'watch', holds: 'streams of changes' },
  {
    folder: 'verbs',
    holds: 'get, list, create, update, patch, apply, delete; transactions of the store',
  },
  { folder: 'context', holds: 'what all verbs work with: store, caches, limits, write turns' },
  { folder: 'admission', holds: 'fields, defaults, validation, metadata, namespaces, write rules' },
  { folder: 'apply', holds: 'server-side apply and the owners of fields' },
  { folder: 'patch', holds: 'JSON patch, merge patch, strategic merge patch' },
  { folder: 'negotiation', holds: 'Accept and Content-Type: forms of bodies and answers' },
  { folder: 'kinds', holds: 'one folder for each kind of object' },
  { folder: 'allocation', holds: 'keys, ranges and pools of what one object alone can hold' },
  { folder: 'cache', holds: 'one watch of the store, and the objects that it shows' },
  {
    folder: 'request',
    holds: 'a request, what it does and selects, and its answer as handlers see them',
  },
  { folder: 'encoding', holds: 'stored form, JSON, YAML, protobuf, media types' },
  {
    folder: 'resource',
    holds: 'what a kind declares; columns of tables, storage keys and URL paths',
  },
  { folder: 'schema', holds: 'the fields of all kinds' },
  {
    folder: 'status',
    holds: 'StatusError, its causes, the errors of the API, failures of the store',
  },
]

const ROOT = 'src/apiserver'

/** Fixtures and harnesses, which only tests import. */
const TESTING = /^src\/apiserver\/(?:[\w-]+\/)*testing\//

/** Every import between production files of the API server, types included. */
export function apiserverEdges(sources: readonly SourceFile[]): readonly Edge[] {
  const paths = new Set(sources.map(({ path }) => path))
  return sources
    .filter(({ path }) => !isTest(path) && !TESTING.test(path))
    .flatMap(importsOf)
    .filter(({ relative, target }) => relative && paths.has(target))
    .map(({ from, target }) => ({ from, to: target }))
}

/** What is wrong with one import, or undefined. */
export function layerFault({ from, to }: Edge): string | undefined {
  if (TESTING.test(to)) return `${from} imports ${to}, which only tests may`
  const [above, below] = [rankOf(from), rankOf(to)]
  if (above === undefined) return `${from} is in a folder without a layer`
  if (below === undefined) return `${to} is in a folder without a layer`
  return above <= below ? undefined : `${from} imports upward: ${to}`
}

/** The place of a file's folder in the order; the longest folder counts. */
function rankOf(path: string): number | undefined {
  const folder = posix.dirname(path).slice(ROOT.length + 1)
  const matching = apiserverLayers
    .map((layer, rank) => ({ layer, rank }))
    .filter(({ layer }) => isWithin(folder, layer.folder))
  return matching.toSorted((a, b) => b.layer.folder.length - a.layer.folder.length)[0]?.rank
}

function isWithin(folder: string, layer: string): boolean {
  return folder === layer || (layer !== '' && folder.startsWith(`${layer}/`))
}
