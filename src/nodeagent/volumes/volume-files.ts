import { mkdir } from 'node:fs/promises'
import type { PodPlan } from '../plan/pod-plan.ts'
import type { FilesVolume } from '../plan/volume-plan.ts'
import { readSourceFiles, type SourceFiles, type SourceTools } from './source-files.ts'
import { type WrittenFile, writeFiles } from './write-files.ts'

/** What became of an attempt to bring the files up to date. */
export interface Refreshed {
  /** What could not be read; its files stay as they were. */
  readonly problems: readonly string[]
  /** When the first token is to be replaced, milliseconds since the epoch; Infinity: never. */
  readonly renewAt: number
}

const TOKEN_MODE = 0o600

/** The files of one volume, in a folder of its own. */
export class VolumeFiles {
  readonly #tools: SourceTools
  readonly #volume: FilesVolume
  readonly #folder: string
  /** What each source gave last, in the order of the sources. */
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

  /** Later sources take the place of earlier ones at the same path. */
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
