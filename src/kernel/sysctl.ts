import { readFileSync, writeFileSync } from 'node:fs'
import { NodeProxyError } from '../lib/error.ts'
import type { Logger } from '../telemetry/logger.ts'

/**
 * Kernel settings of this network namespace, by path under /proc/sys:
 * `net/ipv4/ip_forward` (a path, because interface names may contain dots).
 */
export interface Sysctl {
  /**
   * The value without white space at its ends; tabs are replaced by spaces. Undefined if this kernel has no such
   * setting. Throws NP_KERNEL_SYSCTL if it cannot be read.
   */
  read(path: string): string | undefined
  /**
   * Sets a setting to `value`, writing only if it differs; returns whether it wrote. Throws NP_KERNEL_SYSCTL if the
   * setting is missing or cannot be written.
   */
  ensure(path: string, value: string): boolean
}

/** For a process that may not change the kernel: settings are neither read nor written. */
export const noopSysctl: Sysctl = {
  read: () => undefined,
  ensure: () => false,
}

/** The same settings; a write is accepted, and changes nothing. */
export function readOnlySysctl(sysctl: Sysctl): Sysctl {
  return { read: (path) => sysctl.read(path), ensure: () => false }
}

/** What `ensureSetting` works with. */
interface EnsureParts {
  readonly sysctl: Sysctl
  readonly log: Logger
  /** Why the setting is changed, for the log. */
  readonly why?: string
}

/** Writes a kernel setting if its value differs, and logs this. If it cannot be read or written, logs a warning. */
export function ensureSetting(
  path: string,
  value: string,
  { sysctl, log, why }: EnsureParts,
): void {
  const facts = { sysctl: path, value, ...(why !== undefined && { why }) }
  try {
    if (sysctl.ensure(path, value)) log.info(facts, 'set a kernel setting')
  } catch (error) {
    log.warn({ err: error, ...facts }, 'changing a kernel setting failed; it stays as it was')
  }
}

/** At least two names. No name begins with a dot, so that a path cannot leave /proc/sys. */
const PATH = /^[A-Za-z0-9_][A-Za-z0-9_.@:-]*(\/[A-Za-z0-9_][A-Za-z0-9_.@:-]*)+$/

/** Kernel settings in the files of /proc/sys. */
export class ProcSysctl implements Sysctl {
  readonly #root: string

  constructor(root = '/proc/sys') {
    this.#root = root
  }

  read(path: string): string | undefined {
    const file = this.#file(path)
    try {
      return readFileSync(file, 'utf8').trim().replaceAll('\t', ' ')
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return undefined
      throw refused(path, 'cannot be read', error)
    }
  }

  ensure(path: string, value: string): boolean {
    const found = this.read(path)
    if (found === value) return false
    if (found === undefined) throw refused(path, 'does not exist in this kernel')
    try {
      writeFileSync(this.#file(path), value)
    } catch (error) {
      const why = `is ${JSON.stringify(found)} and cannot be set to ${JSON.stringify(value)}`
      throw refused(path, why, error, `set it on the host: sysctl -w ${path}=${value}`)
    }
    return true
  }

  #file(path: string): string {
    if (!PATH.test(path)) throw new TypeError(`not a setting: ${JSON.stringify(path)}`)
    return `${this.#root}/${path}`
  }
}

function refused(path: string, why: string, cause?: unknown, remedy?: string): NodeProxyError {
  const hint =
    remedy ?? 'check that the module with this setting is loaded, and that /proc/sys is mounted'
  return new NodeProxyError('NP_KERNEL_SYSCTL', `${path} ${why}`, { object: path, hint, cause })
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
