import { execFile } from 'node:child_process'
import { access, readdir } from 'node:fs/promises'
import { promisify } from 'node:util'
import { NodeProxyError } from '../lib/error.ts'

/** The paths of Debian's package user-mode-linux. */
const PROGRAM = '/usr/bin/linux.uml'
const MODULES = '/usr/lib/uml/modules'
const TIMEOUT_MS = 10_000

/** The program that is the kernel, and the modules that were built with it. */
export interface Installation {
  readonly program: string
  /** `6.1.176`. */
  readonly release: string
  /** The folder that holds modules.dep. */
  readonly modules: string
}

/** Finds User-mode Linux on this machine; throws NP_UML_MISSING. */
export async function findInstallation(
  places: { readonly program: string; readonly modules: string } = {
    program: PROGRAM,
    modules: MODULES,
  },
): Promise<Installation> {
  const release = await releaseOf(places.program)
  const modules = `${places.modules}/${release}`
  await access(`${modules}/modules.dep`).catch(async (cause: unknown) => {
    const others = await readdir(places.modules).catch(() => [])
    throw missing(`has no modules for ${release} (there are: ${others.join(' ')})`, cause)
  })
  return { program: places.program, release, modules }
}

async function releaseOf(program: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(program, ['--version'], { timeout: TIMEOUT_MS })
    return stdout.trim()
  } catch (cause) {
    throw missing(`cannot be run: ${program}`, cause)
  }
}

function missing(what: string, cause: unknown): NodeProxyError {
  return new NodeProxyError('NP_UML_MISSING', `User-mode Linux ${what}`, {
    cause,
    hint: 'apt-get install user-mode-linux kmod',
  })
}
