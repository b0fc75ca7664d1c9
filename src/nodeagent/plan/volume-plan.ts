import { arrayAt, type Json, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { isLabel, isSubdomain } from '../../resources/names.ts'
import type { ClusterResolver, PodDns } from '../../resources/pod-dns.ts'
import { isPodField } from './pod-field.ts'

/** A volume of a Pod: a folder that is made before its containers start. */
export type VolumePlan = EmptyVolume | FilesVolume

/** `emptyDir`. */
export interface EmptyVolume {
  readonly kind: 'empty'
  readonly name: string
  /** `medium: Memory`. */
  readonly isInMemory: boolean
}

/** `projected`, `secret`, `configMap` and `downwardAPI`: files that the node agent writes and keeps up to date. */
export interface FilesVolume {
  readonly kind: 'files'
  readonly name: string
  /** The mode of files without one of their own: 0 to 0o777. */
  readonly defaultMode: number
  readonly sources: readonly FileSource[]
}

/** Where files of a volume come from. Paths are relative and have no `..`. */
export type FileSource = TokenSource | ObjectSource | FieldSource | ResolverSource

/** A token of the Pod's account, bound to the Pod. */
export interface TokenSource {
  readonly kind: 'token'
  readonly path: string
  /** Empty: the audience of the API server. */
  readonly audience: string
  readonly expirationSeconds: number
}

/** Keys of a ConfigMap or Secret. */
export interface ObjectSource {
  readonly kind: 'object'
  readonly resource: ObjectResource
  readonly name: string
  /** Undefined: every key, in a file with its name. */
  readonly items: readonly KeyFile[] | undefined
  readonly isOptional: boolean
}

/** Fields of the Pod. */
interface FieldSource {
  readonly kind: 'fields'
  readonly items: readonly FieldFile[]
}

/** The file of the resolver: `resolv.conf`. */
interface ResolverSource {
  readonly kind: 'resolver'
  readonly path: string
  readonly dns: PodDns
  readonly resolver: ClusterResolver
}

/** The resources whose keys become files and variables. */
export type ObjectResource = 'configmaps' | 'secrets'

export interface KeyFile {
  readonly key: string
  readonly path: string
  /** Undefined: that of the volume. */
  readonly mode: number | undefined
}

interface FieldFile {
  /** `metadata.name`. */
  readonly field: string
  readonly path: string
  /** Undefined: that of the volume. */
  readonly mode: number | undefined
}

const TOKEN_SECONDS = 3600
const MIN_TOKEN_SECONDS = 600
const KEY = /^[-._a-zA-Z0-9]+$/

const DEFAULT_MODE = 0o644
const MAX_MODE = 0o777
const TYPES = ['projected', 'secret', 'configMap', 'downwardAPI', 'emptyDir']

/**
 * Reads `spec.volumes`. Volumes that cannot be made as specified are added to `faults`: one sentence each, with
 * the path of the field.
 */
export function readVolumes(spec: JsonObject, faults: string[]): readonly VolumePlan[] {
  const names = new Set<string>()
  return arrayAt(spec, 'volumes').flatMap((volume, index) => {
    const at = `spec.volumes[${index}]`
    const name = stringAt(volume, 'name')
    if (!isLabel(name)) faults.push(`${at}.name must be a label, not ${quote(name)}`)
    else if (names.has(name)) faults.push(`${at}.name: ${quote(name)} is another volume's`)
    names.add(name)
    return readVolume(volume, { name, at, faults })
  })
}

interface Reading {
  readonly name: string
  readonly at: string
  readonly faults: string[]
}

function readVolume(volume: Json, { name, at, faults }: Reading): readonly VolumePlan[] {
  const [type, ...others] = typesOf(volume)
  if (type === undefined || !TYPES.includes(type) || others.length > 0) {
    faults.push(unsupported(at, type, others))
    return []
  }
  if (type === 'emptyDir') {
    return [{ kind: 'empty', name, isInMemory: stringAt(volume, type, 'medium') === 'Memory' }]
  }
  const content = valueAt(volume, type)
  const own = readMode(valueAt(content, 'defaultMode'), `${at}.${type}.defaultMode`, faults)
  const shared = { kind: 'files', name, defaultMode: own ?? DEFAULT_MODE } as const
  const source = { at: `${at}.${type}`, faults, readMode }
  if (type === 'projected') return [{ ...shared, sources: readFileSources(content, source) }]
  return [{ ...shared, sources: readFileSource(type, content, source) }]
}

/** File permissions; undefined: none are given, or they are a fault. */
function readMode(mode: Json | undefined, at: string, faults: string[]): number | undefined {
  if (mode === undefined || mode === null) return undefined
  const isMode = typeof mode === 'number' && Number.isInteger(mode) && mode >= 0 && mode <= MAX_MODE
  if (isMode) return mode
  faults.push(`${at} must be file permissions from 0 to 511 (octal 0777), not ${quote(mode)}`)
  return undefined
}

function typesOf(volume: Json): readonly string[] {
  const fields = valueAt(volume) ?? {}
  return typeof fields === 'object' ? Object.keys(fields).filter((key) => key !== 'name') : []
}

function unsupported(at: string, type: string | undefined, others: readonly string[]): string {
  const known = `use one of ${TYPES.join(', ')}`
  if (type === undefined) return `${at} has no type: ${known}`
  if (others.length > 0) return `${at} has several types: ${known}`
  return `${at}.${type}: this node agent has no volumes of this type; ${known}`
}

/** How a volume is read. */
interface SourceReading {
  /** `spec.volumes[0].projected`. */
  readonly at: string
  readonly faults: string[]
  readonly readMode: (mode: Json | undefined, at: string, faults: string[]) => number | undefined
}

/** Reads `sources` of a projected volume. */
function readFileSources(projected: Json | undefined, reading: SourceReading) {
  const { at, faults } = reading
  return arrayAt(projected, 'sources').flatMap((source, index): readonly FileSource[] => {
    const path = `${at}.sources[${index}]`
    const [type, ...others] = typeof source === 'object' ? Object.keys(source ?? {}) : []
    if (type === undefined || others.length > 0) {
      faults.push(`${path} must have one type`)
      return []
    }
    return readFileSource(type, valueAt(source, type), { ...reading, at: `${path}.${type}` })
  })
}

/** Reads one source of files, at the path `at`; none when it is a fault. */
function readFileSource(
  type: string,
  source: Json | undefined,
  reading: SourceReading,
): readonly FileSource[] {
  const { at, faults } = reading
  switch (type) {
    case 'serviceAccountToken':
      return [readToken(source, reading)]
    case 'downwardAPI':
      return [{ kind: 'fields', items: readFields(source, reading) }]
    case 'configMap':
    case 'secret': {
      const isVolume = type === 'secret' && valueAt(source, 'secretName') !== undefined
      const nameKey = isVolume ? 'secretName' : 'name'
      const name = stringAt(source, nameKey)
      if (!isSubdomain(name)) faults.push(`${at}.${nameKey} must be a name, not ${quote(name)}`)
      const isOptional = valueAt(source, 'optional') === true
      const resource = type === 'secret' ? 'secrets' : 'configmaps'
      return [{ kind: 'object', resource, name, items: readKeys(source, reading), isOptional }]
    }
    default:
      faults.push(
        `${at}: this node agent projects serviceAccountToken, configMap, secret and downwardAPI only`,
      )
      return []
  }
}

function readToken(source: Json | undefined, { at, faults }: SourceReading): TokenSource {
  const seconds = valueAt(source, 'expirationSeconds') ?? TOKEN_SECONDS
  const isLong = typeof seconds === 'number' && Number.isInteger(seconds)
  if (!isLong || seconds < MIN_TOKEN_SECONDS) {
    faults.push(`${at}.expirationSeconds must be ${MIN_TOKEN_SECONDS} or more`)
  }
  return {
    kind: 'token',
    path: readPath(source, at, faults),
    audience: stringAt(source, 'audience'),
    expirationSeconds: Number(seconds),
  }
}

function readKeys(
  source: Json | undefined,
  { at, faults, readMode }: SourceReading,
): readonly KeyFile[] | undefined {
  if (arrayAt(source, 'items').length === 0) return undefined
  return arrayAt(source, 'items').map((item, index) => {
    const path = `${at}.items[${index}]`
    const key = stringAt(item, 'key')
    if (!KEY.test(key)) faults.push(`${path}.key must be a key, not ${quote(key)}`)
    const mode = readMode(valueAt(item, 'mode'), `${path}.mode`, faults)
    return { key, path: readPath(item, path, faults), mode }
  })
}

function readFields(
  source: Json | undefined,
  { at, faults, readMode }: SourceReading,
): readonly FieldFile[] {
  return arrayAt(source, 'items').map((item, index) => {
    const path = `${at}.items[${index}]`
    const field = stringAt(item, 'fieldRef', 'fieldPath')
    const isKnown = field.startsWith('metadata.') && isPodField(field)
    if (!isKnown) faults.push(`${path}: this node agent knows fieldRef of metadata only`)
    const mode = readMode(valueAt(item, 'mode'), `${path}.mode`, faults)
    return { field, path: readPath(item, path, faults), mode }
  })
}

function readPath(item: Json | undefined, at: string, faults: string[]): string {
  const path = stringAt(item, 'path')
  const fault = pathFault(path)
  if (fault !== undefined) faults.push(`${at}.path ${fault}: ${quote(path)}`)
  return path
}

/**
 * The fault of a path inside a volume, as text that follows the name of its field; undefined: none. The node
 * agent writes files there as root, so a path must not lead out of the volume, or to the names with `..` that
 * are used to replace files.
 */
export function pathFault(path: string): string | undefined {
  if (path === '') return 'must not be empty'
  if (path.includes('\0')) return 'must not hold a zero byte'
  if (path.startsWith('/')) return 'must be relative'
  const parts = path.split('/')
  if (parts.includes('..')) return 'must not contain ".."'
  if (path.startsWith('..')) return 'must not begin with ".."'
  if (parts.some((part) => part === '' || part === '.')) {
    return 'must name a file, without "." and without empty parts'
  }
  return undefined
}

/** The fault of the path at which a volume is mounted; undefined: none. */
export function mountPathFault(path: string): string | undefined {
  if (!path.startsWith('/')) return 'must be absolute'
  if (path.includes('\0')) return 'must not hold a zero byte'
  const parts = path.split('/').filter((part) => part !== '')
  if (parts.includes('..')) return 'must not contain ".."'
  const [first] = parts.filter((part) => part !== '.')
  if (first === undefined) return 'must not be the root folder'
  return KERNEL_FOLDERS.has(first) ? `must not lie in /${first}, which is the kernel's` : undefined
}

const KERNEL_FOLDERS: ReadonlySet<string> = new Set(['proc', 'sys', 'dev'])
