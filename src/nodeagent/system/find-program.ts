import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { NodeProxyError } from '../../lib/error.ts'

/** Where to search for a program. */
export interface Search {
  /** The working directory; default: the root folder. */
  readonly folder?: string
  /** The path on the machine of a path that the process sees; default: the same. */
  readonly locate?: (path: string) => string
}

/**
 * The path of a program as a shell would find it: by its path from `folder`, or
 * in PATH; undefined when there is none that may be executed.
 */
export async function findProgram(
  program: string,
  path: string,
  { folder = '/', locate = (seen) => seen }: Search = {},
): Promise<string | undefined> {
  const candidates = program.includes('/')
    ? [resolve(folder, program)]
    : path.split(':').map((directory) => resolve(folder, directory, program))
  for (const candidate of candidates) {
    if (await isExecutable(locate(candidate))) return candidate
  }
  return undefined
}

/** The path of a program of the system. Throws NP_NODEAGENT_PROGRAM when there is none. */
export async function requireProgram(name: string): Promise<string> {
  const path = await findProgram(name, process.env['PATH'] ?? '')
  if (path !== undefined) return path
  throw new NodeProxyError('NP_NODEAGENT_PROGRAM', `there is no program ${name} in PATH`, {
    object: name,
    hint: 'install util-linux, which contains it',
  })
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}
