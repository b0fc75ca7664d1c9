import { NodeProxyError } from '../../lib/error.ts'
import { findProgram } from './find-program.ts'

/** The path of a program of the system. Throws NP_NODEAGENT_PROGRAM when there is none. */
export async function requireProgram(name: string): Promise<string> {
  const path = await findProgram(name, process.env['PATH'] ?? '')
  if (path !== undefined) return path
  throw new NodeProxyError('NP_NODEAGENT_PROGRAM', `there is no program ${name} in PATH`, {
    object: name,
    hint: 'install util-linux, of which it is a part',
  })
}
