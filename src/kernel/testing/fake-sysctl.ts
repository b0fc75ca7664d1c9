import { NodeProxyError } from '../../lib/error.ts'
import type { Sysctl } from '../sysctl.ts'

/** Settings that the test fills; `readOnly` ones cannot be written. */
export class FakeSysctl implements Sysctl {
  readonly values: Map<string, string>
  readonly readOnly = new Set<string>()
  /** Paths in the order in which they were written. */
  readonly writes: string[] = []

  constructor(values: Readonly<Record<string, string>> = {}) {
    this.values = new Map(Object.entries(values))
  }

  read(path: string): string | undefined {
    return this.values.get(path)
  }

  ensure(path: string, value: string): boolean {
    if (this.values.get(path) === value) return false
    if (!this.values.has(path) || this.readOnly.has(path)) {
      throw new NodeProxyError('NP_KERNEL_SYSCTL', `${path} cannot be set`, { object: path })
    }
    this.values.set(path, value)
    this.writes.push(path)
    return true
  }
}
