import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export interface TemporaryFolder {
  readonly path: string
  /** Writes a file (and its folders) and returns its absolute path. */
  write(name: string, text: string, mode?: number): string
  remove(): void
}

export function createTemporaryFolder(): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), 'node-proxy-test-'))
  return {
    path,
    write(name, text, mode = 0o600) {
      const file = join(path, name)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text, { mode })
      return file
    },
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}
