import { readFile, writeFile } from 'node:fs/promises'
import { NodeProxyError } from '../../../lib/error.ts'

/**
 * Sets the kernel's inclination to kill this process when memory runs out
 * (proc(5), oom_score_adj, −1000…1000). Lowering it needs CAP_SYS_RESOURCE, so
 * a refusal is the result NP_NODEPROXY_OOM_SCORE, to be logged and lived with.
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
