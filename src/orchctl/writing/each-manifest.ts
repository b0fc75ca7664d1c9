import { NodeProxyError } from '../../lib/error.ts'
import type { Manifest } from '../../manifests/manifests.ts'
import type { CommandContext } from '../command/command-module.ts'
import { type ExitCode, exitCodeOf } from '../usage/exit-code.ts'

/** Does something with one manifest. @returns the errors; empty: it succeeded */
export type ManifestAction = (manifest: Manifest) => Promise<readonly NodeProxyError[]>

/**
 * Handles the manifests one by one; one that fails is reported and does not stop the others, unless the server cannot
 * be reached.
 */
export async function eachManifest(
  manifests: readonly Manifest[],
  context: CommandContext,
  action: ManifestAction,
): Promise<ExitCode> {
  let code: ExitCode = 0
  for (const manifest of manifests) {
    const errors = await action(manifest).catch((error: unknown) => [expected(error)])
    for (const error of errors) {
      context.report(error)
      code = exitCodeOf(error)
    }
    if (code === 3) return code
  }
  return code
}

function expected(error: unknown): NodeProxyError {
  if (error instanceof NodeProxyError) return error
  throw error
}
