import { createReadStream } from 'node:fs'
import { NodeProxyError, systemCode } from '../../../lib/error.ts'
import { locateYaml } from '../../../lib/yaml.ts'
import type { AuditPolicy } from './audit-policy.ts'
import { decodePolicy, Problems } from './decode-policy.ts'

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
  const problems = new Problems()
  const located = locateYaml({ file, text })
  if (located.ok) {
    const policy = decodePolicy(located.root, problems)
    if (problems.all.length === 0) return policy
  } else for (const fault of located.faults) problems.addFault(fault)
  throw refused(`the audit policy cannot be used: ${problems.all.join('; ')}`, file)
}

async function readText(path: string): Promise<string> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of createReadStream(path, { end: MAX_BYTES - 1 })) {
      chunks.push(chunk as Buffer)
    }
  } catch (cause) {
    const code = systemCode(cause)
    throw refused(`the audit policy ${path} cannot be read: ${code}`, path, cause)
  }
  return Buffer.concat(chunks).toString()
}

function refused(message: string, object: string, cause?: unknown): NodeProxyError {
  const hint = 'check --audit-policy-file; docs/operate/audit.md describes the format'
  return new NodeProxyError('NP_APISERVER_AUDIT_POLICY', message, { object, hint, cause })
}
