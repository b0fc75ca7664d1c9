import { readFileSync, writeFileSync } from 'node:fs'
import { NodeProxyError } from '../../lib/error.ts'
import type { Sysctl } from './sysctl.ts'

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
