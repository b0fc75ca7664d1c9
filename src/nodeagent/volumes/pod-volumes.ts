import { chmod, chown, mkdir, readFile, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ApiClient } from '../../client/http/api-client.ts'
import type { Clock } from '../../lib/clock.ts'
import { messageOf, NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { isPathSegment } from '../../resources/names.ts'
import { formatResolvConf, parseResolvConf, podResolvConf } from '../../resources/pod-dns.ts'
import { fieldValue } from '../plan/pod-field.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import type {
  EmptyVolume,
  FileSource,
  FilesVolume,
  ObjectSource,
  VolumePlan,
} from '../plan/volume-plan.ts'
import { podToken, readObjectValues, type TokenTools } from './object-values.ts'
import type { VolumeFolders } from './volume-folders.ts'
import { type WrittenFile, writeFiles } from './write-files.ts'

const NOWHERE = { podIPs: [], hostIP: '' }

const TOKEN_MODE = 0o600

/** The parts of the node that volumes use. */
export interface VolumeTools extends SourceTools {
  readonly clock: Clock
  readonly folders: Pick<VolumeFolders, 'memory' | 'disk'>
  /** Milliseconds between two reads of ConfigMaps and Secrets, to which up to a tenth is added. */
  readonly refreshMs: number
}

const FIRST_RETRY_MS = 1_000

/**
 * The volumes of one Pod. Until the volumes are removed, their files are updated regularly and tokens are
 * replaced in time.
 */
export class PodVolumes {
  readonly #tools: VolumeTools
  /** Receives the reason each time files could not be updated. */
  readonly #onProblem: (message: string) => void
  #pod: PodPlan
  #volumes: readonly VolumeFiles[] = []
  #cancel: () => void = () => undefined
  #work: Promise<void> = Promise.resolve()
  #failures = 0
  readonly #closing = new AbortController()

  constructor(tools: VolumeTools, pod: PodPlan, onProblem: (message: string) => void) {
    this.#tools = { ...tools, client: abortable(tools.client, this.#closing.signal) }
    this.#pod = pod
    this.#onProblem = onProblem
  }

  /** Makes all volumes, replacing existing ones. Throws when one cannot be made; then none exists. */
  make(): Promise<void> {
    this.#cancel()
    const made = this.#work.then(() => this.#make())
    this.#work = made.catch(() => undefined)
    return made
  }

  /** Takes the current labels and annotations of the Pod. The next update writes the files that show them. */
  changed({ labels, annotations }: Pick<PodPlan, 'labels' | 'annotations'>): void {
    this.#pod = { ...this.#pod, labels, annotations }
  }

  /** The folder of a volume on the node. */
  folderOf(volume: VolumePlan): string {
    const { memory, disk } = this.#tools.folders
    const isOnDisk = volume.kind === 'empty' && !volume.isInMemory
    return join(isOnDisk ? disk : memory, this.#pod.uid, volume.name)
  }

  /** A folder of the Pod next to its volumes, whose names contain no `_`. Its path contains no links. */
  ownFolder(): Promise<string> {
    return realpath(join(this.#tools.folders.memory, this.#pod.uid))
  }

  /** Removes the volumes; no file in them is written after that. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#cancel()
    await this.#work
    if (this.#pod.volumes.length > 0) await this.#remove()
  }

  async #make(): Promise<void> {
    const { volumes, uid } = this.#pod
    if (this.#closing.signal.aborted || volumes.length === 0) return
    if (!isPathSegment(uid)) {
      throw new NodeProxyError('NP_NODEAGENT_VOLUME', 'metadata.uid of the Pod is no name')
    }
    await this.#remove()
    await mkdir(join(this.#tools.folders.memory, uid), { recursive: true, mode: 0o700 })
    for (const volume of volumes) if (volume.kind === 'empty') await this.#makeEmpty(volume)
    this.#volumes = volumes.flatMap((volume) =>
      volume.kind === 'files' ? [new VolumeFiles(this.#tools, volume, this.folderOf(volume))] : [],
    )
    try {
      await this.#refresh()
    } catch (error) {
      await this.#remove()
      throw error
    }
  }

  /** Makes an emptyDir. All users may write to it, as in Kubernetes; only users of the Pod can reach it. */
  async #makeEmpty(volume: EmptyVolume): Promise<void> {
    const folder = this.folderOf(volume)
    const { fsGroup } = this.#pod
    await mkdir(folder, { recursive: true, mode: 0o700 })
    if (fsGroup !== undefined) await chown(folder, UNCHANGED, fsGroup)
    await chmod(folder, fsGroup === undefined ? 0o777 : 0o2777)
  }

  async #refresh(): Promise<void> {
    const attempts = await Promise.allSettled(this.#volumes.map((one) => one.refresh(this.#pod)))
    const results = attempts.map((one) => {
      if (one.status === 'rejected') throw one.reason
      return one.value
    })
    const problems = results.flatMap((one) => one.problems)
    this.#failures = problems.length === 0 ? 0 : this.#failures + 1
    this.#wakeAt(Math.min(...results.map(({ renewAt }) => renewAt)))
    for (const problem of problems) this.#onProblem(problem)
  }

  #wakeAt(renewAt: number): void {
    const { clock, random, refreshMs } = this.#tools
    if (this.#closing.signal.aborted || this.#volumes.length === 0) return
    const usual = refreshMs + random.below(Math.ceil(refreshMs / 10))
    const retry = FIRST_RETRY_MS * 2 ** Math.min(this.#failures - 1, RETRIES)
    const wait = this.#failures > 0 ? Math.min(retry, refreshMs) : renewAt - clock.now()
    this.#cancel()
    this.#cancel = clock.after(Math.max(0, Math.min(usual, wait)), () => {
      this.#work = this.#work.then(() => this.#again())
    })
  }

  async #again(): Promise<void> {
    if (this.#closing.signal.aborted) return
    await this.#refresh().catch((error: unknown) => {
      this.#failures++
      this.#wakeAt(Number.POSITIVE_INFINITY)
      this.#onProblem(messageOf(error))
    })
  }

  async #remove(): Promise<void> {
    const { memory, disk } = this.#tools.folders
    for (const folder of [memory, disk]) {
      await rm(join(folder, this.#pod.uid), { recursive: true, force: true })
    }
  }
}

const UNCHANGED = -1
const RETRIES = 6

/** Requests that end with the signal. */
function abortable(client: SourceTools['client'], signal: AbortSignal): SourceTools['client'] {
  return {
    get: (path, options) => client.get(path, { ...options, signal }),
    create: (path, body, options) => client.create(path, body, { ...options, signal }),
  }
}

/** The result of an attempt to update the files. */
interface Refreshed {
  /** The sources that could not be read; their files are left unchanged. */
  readonly problems: readonly string[]
  /** When the first token is to be replaced, milliseconds since the epoch; Infinity: never. */
  readonly renewAt: number
}

/** The files of one volume, in its own folder. */
class VolumeFiles {
  readonly #tools: SourceTools
  readonly #volume: FilesVolume
  readonly #folder: string
  /** The last files of each source, in the order of the sources. */
  #known: readonly (SourceFiles | undefined)[] = []
  #written: readonly WrittenFile[] | undefined

  constructor(tools: SourceTools, volume: FilesVolume, folder: string) {
    this.#tools = tools
    this.#volume = volume
    this.#folder = folder
  }

  /**
   * Reads every source whose files may have changed, and writes them if they have. Throws when a source was
   * never read, or the files cannot be written.
   */
  async refresh(pod: PodPlan): Promise<Refreshed> {
    const problems: string[] = []
    const now = this.#tools.clock.now()
    this.#known = await Promise.all(
      this.#volume.sources.map(async (source, index) => {
        const known = this.#known[index]
        if (known !== undefined && known.validUntil > now) return known
        return readSourceFiles(this.#tools, pod, source).catch((error: unknown) => {
          problems.push(`volume ${this.#volume.name}: ${messageOf(error)}`)
          return known
        })
      }),
    )
    const missing = this.#known.includes(undefined)
    if (missing) throw new Error(problems.join('; '))
    await this.#write(pod)
    const renewals = this.#known.map((source) => source?.validUntil ?? 0).filter((at) => at > 0)
    return { problems, renewAt: Math.min(...renewals) }
  }

  async #write(pod: PodPlan): Promise<void> {
    const files = this.#filesFor(pod)
    if (this.#written !== undefined && isSame(this.#written, files)) return
    await mkdir(this.#folder, { recursive: true })
    await writeFiles(this.#folder, files, pod.fsGroup)
    this.#written = files
  }

  /** The files of all sources; at the same path a later source replaces an earlier one. */
  #filesFor(pod: PodPlan): readonly WrittenFile[] {
    const { defaultMode } = this.#volume
    const user = userOf(pod)
    const isPrivate = user !== undefined || pod.fsGroup !== undefined
    const files = this.#known.flatMap((source) => source?.files ?? [])
    const written = files.map(({ path, content, mode, isToken }): WrittenFile => {
      if (!isToken) return { path, content, mode: mode ?? defaultMode, uid: undefined }
      return { path, content, mode: isPrivate ? TOKEN_MODE : defaultMode, uid: user }
    })
    return [...new Map(written.map((file) => [file.path, file])).values()]
  }
}

/** The user that all containers run as; undefined: they have none, or several. */
function userOf({ containers }: PodPlan): number | undefined {
  const [user, ...others] = new Set(containers.map(({ user: { uid } }) => uid))
  return others.length === 0 ? user : undefined
}

function isSame(some: readonly WrittenFile[], others: readonly WrittenFile[]): boolean {
  return (
    some.length === others.length &&
    some.every((one, index) => {
      const other = others[index]
      return (
        other !== undefined &&
        one.path === other.path &&
        one.mode === other.mode &&
        one.uid === other.uid &&
        one.content.equals(other.content)
      )
    })
  )
}

/** The dependencies for reading the sources of volumes. */
interface SourceTools extends TokenTools {
  readonly client: Pick<ApiClient, 'get' | 'create'>
}

interface VolumeFile {
  readonly path: string
  readonly content: Buffer
  /** Undefined: that of the volume. */
  readonly mode: number | undefined
  /** Whether the file is a token, which only the user of the Pod may read. */
  readonly isToken: boolean
}

interface SourceFiles {
  readonly files: readonly VolumeFile[]
  /** Until when these need not be read again, milliseconds since the epoch; 0: they may change at any time. */
  readonly validUntil: number
}

/** Reads one source of a volume. Throws when part of it is missing; no message contains a value. */
async function readSourceFiles(
  tools: SourceTools,
  pod: PodPlan,
  source: FileSource,
): Promise<SourceFiles> {
  switch (source.kind) {
    case 'token': {
      const { token, renewAt } = await podToken(tools, pod, source)
      const content = Buffer.from(token)
      const file = { path: source.path, content, mode: undefined, isToken: true }
      return { files: [file], validUntil: renewAt }
    }
    case 'fields': {
      const files = source.items.map(({ field, path, mode }) => {
        const content = Buffer.from(fieldValue(field, pod, NOWHERE))
        return { path, content, mode, isToken: false }
      })
      return { files, validUntil: 0 }
    }
    case 'resolver': {
      const host = parseResolvConf(await readHostFile(source.resolver.hostFile))
      const text = formatResolvConf(podResolvConf(source.dns, source.resolver, host))
      const file = { path: source.path, mode: undefined, isToken: false }
      return { files: [{ ...file, content: Buffer.from(text) }], validUntil: 0 }
    }
    case 'object':
      return { files: await objectFiles(tools, pod, source), validUntil: 0 }
  }
}

/** The text of the node's resolv.conf; empty if the node has none. */
async function readHostFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

async function objectFiles(
  { client }: SourceTools,
  { namespace }: PodPlan,
  source: ObjectSource,
): Promise<readonly VolumeFile[]> {
  const { resource, name, items, isOptional } = source
  const object = `${resource === 'secrets' ? 'secret' : 'configmap'} ${quote(name)}`
  const values = await readObjectValues(client, { namespace, resource, name })
  if (values === undefined) {
    if (isOptional) return []
    throw missing(`${object} not found: make it, or mark it as optional`, object)
  }
  const wanted = items ?? [...values.keys()].map((key) => ({ key, path: key, mode: undefined }))
  return wanted.flatMap(({ key, path, mode }) => {
    const content = values.get(key)
    if (content !== undefined) return [{ path, content, mode, isToken: false }]
    if (isOptional) return []
    throw missing(`${object} has no key ${quote(key)}`, object)
  })
}

function missing(message: string, object: string): NodeProxyError {
  return new NodeProxyError('NP_NODEAGENT_VOLUME', message, { object })
}
