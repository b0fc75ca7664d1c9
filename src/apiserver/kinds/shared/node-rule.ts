import type { NodeWriteRule } from '../../../auth/node/node-writes.ts'
import { stringAt } from '../../../lib/json.ts'
import type { WriterCheck } from '../../resource/resource.ts'
import { forbidden } from '../../status/status-errors.ts'

/** 403 for what the agents of nodes may not write. */
export function nodeRule(rule: NodeWriteRule, plural: string, group: string): WriterCheck {
  return ({ user }, next, old) => {
    const why = rule(user, next, old)
    const name = stringAt(next, 'metadata', 'name')
    return why === undefined ? undefined : forbidden({ plural, group, name }, why)
  }
}
