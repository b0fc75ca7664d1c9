import { createReadStream } from 'node:fs'
import { NodeProxyError } from '../../../lib/error.ts'
import type { AuditPolicy } from './audit-policy.ts'
import { decodePolicy, Problems } from './decode-policy.ts'
import { isYamlFault, locateYaml } from './located-yaml.ts'

/** How many bytes are read: one more than a policy may have, so that a longer file is noticed. */
const MAX_BYTES = (1 << 20) + 1

/**
 * The audit policy of a file.
 * @throws NP_APISERVER_AUDIT_POLICY with every problem of the file, each with its line and remedy
 */
export async function readAuditPolicy(path: string): Promise<AuditPolicy> {
  return parseAuditPolicy(await readText(path), path)
}

/** The audit policy of a text; `file` is for messages. */
export function parseAuditPolicy(text: string, file: string): AuditPolicy {
  const problems = new Problems(file)
  const located = locateYaml(text)
  const policy = isYamlFault(located)
    ? fail({ ...located, path: '', value: null }, located.message)
    : decodePolicy(located, problems)
  function fail(...problem: Parameters<Problems['add']>): AuditPolicy {
    problems.add(...problem)
    return { rules: [] }
  }
  if (problems.all.length === 0) return policy
  throw refused(`the audit policy cannot be used: ${problems.all.join('; ')}`, file)
}

async function readText(path: string): Promise<string> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of createReadStream(path, { end: MAX_BYTES - 1 })) {
      chunks.push(chunk as Buffer)
    }
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown error'
    throw refused(`the audit policy ${path} cannot be read: ${code}`, path, cause)
  }
  return Buffer.concat(chunks).toString()
}

function refused(message: string, object: string, cause?: unknown): NodeProxyError {
  const hint = 'check --audit-policy-file; docs/operate/audit.md describes the format'
  return new NodeProxyError('NP_APISERVER_AUDIT_POLICY', message, { object, hint, cause })
}
