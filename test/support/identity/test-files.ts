import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Files of an operator, which are replaced as a whole. */
export interface TestFiles extends AsyncDisposable {
  path(name: string): string
  write(name: string, text: string): Promise<void>
}

export async function newTestFiles(): Promise<TestFiles> {
  const folder = await mkdtemp(join(tmpdir(), 'np-files-'))
  const path = (name: string): string => join(folder, name)
  return {
    path,
    write: async (name, text) => {
      await writeFile(path(`${name}.new`), text, { mode: 0o600 })
      await rename(path(`${name}.new`), path(name))
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  }
}
