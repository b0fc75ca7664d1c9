import { direct } from './direct.ts'
import { dnat } from './dnat.ts'
import { forwarder } from './forwarder.ts'
import { haproxy } from './haproxy.ts'
import { nginx } from './nginx.ts'
import type { Subject } from './subject.ts'

/** All subjects, in the order of their turns and of the tables. */
export const SUBJECTS: readonly Subject[] = [
  direct,
  dnat,
  haproxy('haproxy-splice'),
  haproxy('haproxy-auto'),
  haproxy('haproxy-copy'),
  nginx,
  forwarder('native'),
  forwarder('javascript'),
]
