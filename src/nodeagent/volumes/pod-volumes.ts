import { chmod, chown, mkdir, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { isPathSegment } from '../../resources/names.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import type { EmptyVolume, VolumePlan } from '../plan/volume-plan.ts'
import type { SourceTools } from './source-files.ts'
import { VolumeFiles } from './volume-files.ts'
import type { VolumeFolders } from './volume-folders.ts'

/** What volumes need of the node. */
export interface VolumeTools extends SourceTools {
  readonly clock: Clock
  readonly folders: Pick<VolumeFolders, 'memory' | 'disk'>
  /** The time between two looks at ConfigMaps and Secrets, to which up to a tenth is added. */
  readonly refreshMs: number
}

const FIRST_RETRY_MS = 1_000

/**
 * The volumes of one Pod. Once they are made, their files are brought up to date again and again, and tokens are
 * replaced in time, until the volumes are removed.
 */
export class PodVolumes {
  readonly #tools: VolumeTools
  /** Receives why files could not be brought up to date, each time. */
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

  /** Makes all volumes anew. Throws when one cannot be made; none is there then. */
  make(): Promise<void> {
    this.#cancel()
    const made = this.#work.then(() => this.#make())
    this.#work = made.catch(() => undefined)
    return made
  }

  /** The Pod's labels and annotations as they are now: files of them follow. */
  changed({ labels, annotations }: Pick<PodPlan, 'labels' | 'annotations'>): void {
    this.#pod = { ...this.#pod, labels, annotations }
  }

  /** Where a volume is, on the node. */
  folderOf(volume: VolumePlan): string {
    const { memory, disk } = this.#tools.folders
    const isOnDisk = volume.kind === 'empty' && !volume.isInMemory
    return join(isOnDisk ? disk : memory, this.#pod.uid, volume.name)
  }

  /** A folder of the Pod beside its volumes, whose names have no `_`; its path has no link in it. */
  ownFolder(): Promise<string> {
    return realpath(join(this.#tools.folders.memory, this.#pod.uid))
  }

  /** Removes the volumes; no file of them is written after that. */
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

  /** All users may write, as in Kubernetes; others than the Pod's do not come here. */
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
    this.#cancel = clock.after(Math.max(0, Math.min(usual, wait)), () => {
      this.#work = this.#work.then(() => this.#again())
    })
  }

  async #again(): Promise<void> {
    if (this.#closing.signal.aborted) return
    await this.#refresh().catch((error: unknown) => {
      this.#failures++
      this.#wakeAt(Number.POSITIVE_INFINITY)
      this.#onProblem(error instanceof Error ? error.message : String(error))
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
