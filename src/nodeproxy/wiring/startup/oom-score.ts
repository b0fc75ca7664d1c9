import { readFile, writeFile } from 'node:fs/promises'
import { NodeProxyError } from '../../../lib/error.ts'

/**
 * Sets oom_score_adj of this process (proc(5); −1000 to 1000, higher is killed earlier). Lowering it needs
 * CAP_SYS_RESOURCE, which the process may not have.
 * @returns NP_NODEPROXY_OOM_SCORE when it could not be set
 */
export async function setOomScore(
  score: number,
  file = '/proc/self/oom_score_adj',
): Promise<NodeProxyError | undefined> {
  try {
    if (Number(await readFile(file, 'utf8')) !== score) await writeFile(file, String(score))
    return undefined
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown error'
    return new NodeProxyError('NP_NODEPROXY_OOM_SCORE', `cannot set ${file} to ${score}: ${code}`, {
      object: file,
      hint: 'add CAP_SYS_RESOURCE, or set oomScoreAdj to what the process has',
      cause,
    })
  }
}
