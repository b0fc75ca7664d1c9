import type { GenericRequest } from '../../netlink/generic.ts'
import type { IpvsCommand } from '../ipvs.ts'
import { encodeAddServer } from './add-server.ts'
import { encodeAddService } from './add-service.ts'
import { encodeDeleteServer } from './delete-server.ts'
import { encodeDeleteService } from './delete-service.ts'
import { encodeSetServer } from './set-server.ts'
import { encodeSetService } from './set-service.ts'

export function encodeCommand(command: IpvsCommand): GenericRequest {
  switch (command.do) {
    case 'addService':
      return encodeAddService(command.id, command.settings)
    case 'setService':
      return encodeSetService(command.id, command.settings)
    case 'deleteService':
      return encodeDeleteService(command.id)
    case 'addServer':
      return encodeAddServer(command.id, command.server)
    case 'setServer':
      return encodeSetServer(command.id, command.server)
    case 'deleteServer':
      return encodeDeleteServer(command.id, command.server)
  }
}
