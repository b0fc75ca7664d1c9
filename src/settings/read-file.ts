import { open } from 'node:fs/promises'
import { NodeProxyError, systemCode } from '../lib/error.ts'
import type { ProblemCodes } from './problem.ts'

/** The content of a configuration file. */
export interface ConfigurationFile {
  /** Its path, for messages. */
  readonly name: string
  readonly text: string
}

/** One byte more than readYaml accepts, so that it can reject a longer file. */
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
