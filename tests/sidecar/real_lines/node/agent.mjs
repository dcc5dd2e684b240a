// What a host in JavaScript logs of the AI SDK's errors, each way with a tool's name of its own.
// npm install ai@6 pino@9 winston@3 bunyan@2 log4js@6; node agent.mjs > agent.log 2>&1
import { NoSuchToolError } from 'ai';
import bunyan from 'bunyan';
import log4js from 'log4js';
import pino from 'pino';
import winston from 'winston';

const failed = (toolName, availableTools = ['orderFind']) => new NoSuchToolError({ toolName, availableTools });

console.log('agent started, model wants', 'orderFind');
console.error(failed('consoleError'));
console.error('chat failed:', failed('consoleWithText'));
console.error(String(failed('asText')));
console.error(failed('noTools', undefined));
console.error(new Error('chat failed', { cause: failed('asCause') }));
console.error(`the model was told: ${failed('toldTheModel').message}`); // no drop: the same text went to the model

const pinoed = pino(pino.destination({ sync: true, fd: 1 }));
pinoed.error(failed('pinoError'));
pinoed.error(failed('pinoErrorWithText'), 'chat failed');
pinoed.error({ err: failed('pinoErr') }, 'chat failed');
pinoed.info({ answer: failed('pinoQuoted').message }, 'sent'); // no drop

const json = winston.format.combine(winston.format.errors({ stack: true }), winston.format.json());
const winstoned = winston.createLogger({ format: json, transports: [new winston.transports.Console()] });
winstoned.error(failed('winstonError'));
winstoned.error('chat failed', failed('winstonErrorWithText'));
winstoned.info(failed('winstonQuoted').message); // no drop

log4js.configure({
  appenders: { out: { type: 'stdout', layout: { type: 'basic' } } },
  categories: { default: { appenders: ['out'], level: 'debug' } },
});
const log4jsed = log4js.getLogger('desk');
log4jsed.error(failed('log4jsError'));
log4jsed.error('chat failed', failed('log4jsErrorWithText'));
log4jsed.warn(String(failed('log4jsText')));
log4jsed.info('customer asked about', 'Model tried to call unavailable tool'); // no drop

const bunyaned = bunyan.createLogger({ name: 'desk', serializers: bunyan.stdSerializers });
bunyaned.error(failed('bunyanError'));
bunyaned.error({ err: failed('bunyanErr') }, 'chat failed');

setTimeout(() => {
  throw failed('uncaught');
}, 100);
