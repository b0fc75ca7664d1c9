import { type FSWatcher, watch } from 'node:fs'
import { open, realpath, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { Clock } from '../lib/clock.ts'
import { messageOf, NodeProxyError, systemCode } from '../lib/error.ts'
import { regularly } from '../lib/regularly.ts'
import type { ProblemCodes } from './table.ts'

export interface WatchConfigOptions {
  readonly clock: Clock
  /** The codes of the errors that `onUnreadable` receives. */
  readonly codes: ProblemCodes
  /** The content at the start; only another content is a change. */
  readonly text: string
  /** Called for one change at a time; the next waits for the promise. */
  readonly onChange: (file: ConfigurationFile) => void | Promise<void>
  /** Called when the file or its folder cannot be read or watched, and when `onChange` failed. */
  readonly onUnreadable: (error: unknown) => void
}

/** A running watch of a file. */
export interface ConfigWatch {
  /** Reads the file at once; resolves when `onChange` has ended. */
  reread(): Promise<void>
  close(): void
}

/** A file is read after this many milliseconds without a change, so that it is not read while it is being written. */
const SETTLE_MS = 100
/** A file is looked at so often besides, in milliseconds: a folder that is replaced, and a remote file system, report nothing. */
const LOOK_INTERVAL_MS = 10_000

/**
 * Watches the folders of a file and of what it links to, so that editors that
 * replace the file and ConfigMap mounts that swap `..data` are seen at once. Besides, it looks at the file every ten seconds.
 */
export function watchConfig(path: string, options: WatchConfigOptions): ConfigWatch {
  const watcher = new ConfigWatcher(path, options)
  void watcher.watchFolders()
  return watcher
}

class ConfigWatcher implements ConfigWatch {
  readonly #path: string
  readonly #options: WatchConfigOptions
  readonly #folders = new Map<string, FSWatcher>()
  #names: ReadonlySet<string>
  #text: string
  #cancel: () => void = () => {}
  #work: Promise<void> = Promise.resolve()
  #closed = false
  /** The last failure to read the file, or to watch a folder, by its path: it is reported once. */
  readonly #failures = new Map<string, string>()
  /** The version of the file that was read last; empty: none was. */
  #version = ''
  readonly #stopLooking: () => void

  constructor(path: string, options: WatchConfigOptions) {
    this.#path = path
    this.#options = options
    this.#text = options.text
    this.#names = new Set([basename(path)])
    this.#stopLooking = regularly({
      clock: options.clock,
      everyMs: LOOK_INTERVAL_MS,
      round: async () => {
        const version = await versionOf(path)
        if (version === '' || version !== this.#version) await this.#queueRead()
      },
      onError: (error) => this.#fail(this.#path, error),
    })
  }

  reread(): Promise<void> {
    this.#failures.clear()
    return this.#queueRead()
  }

  #queueRead(): Promise<void> {
    this.#cancel()
    this.#work = this.#work.then(() => this.#read())
    return this.#work
  }

  close(): void {
    this.#closed = true
    this.#cancel()
    this.#stopLooking()
    for (const watcher of this.#folders.values()) watcher.close()
    this.#folders.clear()
  }

  async watchFolders(): Promise<void> {
    const target = await realpath(this.#path).catch(() => this.#path)
    if (this.#closed) return
    this.#names = new Set([basename(this.#path), basename(target)])
    const wanted = new Set([dirname(this.#path), dirname(target)])
    for (const [folder, watcher] of this.#folders) {
      if (wanted.has(folder)) continue
      watcher.close()
      this.#folders.delete(folder)
    }
    for (const folder of wanted) this.#watchFolder(folder)
  }

  #watchFolder(folder: string): void {
    if (this.#folders.has(folder)) return
    const lost = (error: unknown) => {
      this.#folders.get(folder)?.close()
      this.#folders.delete(folder)
      this.#fail(folder, error)
    }
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => this.#touched(name))
      this.#folders.set(folder, watcher)
      this.#failures.delete(folder)
      watcher.on('error', lost)
    } catch (error) {
      lost(error)
    }
  }

  /** `..data` and its like are how a ConfigMap mount changes all its files at once. */
  #touched(name: string | null): void {
    if (name !== null && !name.startsWith('..') && !this.#names.has(name)) return
    this.#cancel()
    this.#cancel = this.#options.clock.after(SETTLE_MS, () => void this.reread())
  }

  async #read(): Promise<void> {
    if (this.#closed) return
    try {
      await this.watchFolders()
      this.#version = await versionOf(this.#path)
      const file = await readConfigurationFile(this.#path, this.#options.codes)
      this.#failures.delete(this.#path)
      if (file.text === this.#text) return
      this.#text = file.text
      await this.#options.onChange(file)
    } catch (error) {
      this.#fail(this.#path, error)
    }
  }

  /** Reports that the file cannot be read or taken, or a folder not watched, unless that was reported before. */
  #fail(path: string, error: unknown): void {
    const failure = messageOf(error)
    if (this.#failures.get(path) === failure) return
    this.#failures.set(path, failure)
    this.#options.onUnreadable(error)
  }
}

/** Another text when the file may have another content; empty if it cannot be read. */
async function versionOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = await stat(path)
    return [dev, ino, size, mtimeMs, ctimeMs].join(' ')
  } catch {
    return ''
  }
}

/** The content of a configuration file. */
export interface ConfigurationFile {
  /** Its path, for messages. */
  readonly name: string
  readonly text: string
}

/** One byte more than `locateYaml` accepts, so that it refuses a longer file. */
const MAX_BYTES = 1_048_577

/** Reads the configuration file. @throws `codes.unreadable` */
export async function readConfigurationFile(
  path: string,
  codes: ProblemCodes,
): Promise<ConfigurationFile> {
  try {
    const file = await open(path, 'r')
    try {
      return { name: path, text: await readAtMost(file, MAX_BYTES) }
    } finally {
      await file.close()
    }
  } catch (cause) {
    const code = systemCode(cause)
    throw new NodeProxyError(codes.unreadable, `cannot read ${path}: ${code}`, {
      object: path,
      hint: 'check --config and the permissions of the file',
      cause,
    })
  }
}

async function readAtMost(file: Awaited<ReturnType<typeof open>>, most: number): Promise<string> {
  const buffer = Buffer.alloc(most)
  let length = 0
  while (length < most) {
    const { bytesRead } = await file.read(buffer, length, most - length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return buffer.toString('utf8', 0, length)
}
