// Beside viser's own script: a sign of life, driving by held keys, a game pad or held buttons of a touch screen, the page's
// title, and what a click on the robot will do.
// It sends by the worker that has viser's websocket, so that the server knows which page it is. A hidden page sends nothing,
// a suspended computer neither. Keys that drive do not reach viser, which would move its camera.
(() => {
  const ALIVE = "$alive", DRIVE = "$drive", STOP = "$stop", SLOW = "$slow", TITLE_ID = "$title";
  const post = Worker.prototype.postMessage;
  let link = null;
  Worker.prototype.postMessage = function (data, ...rest) {
    if (data && data.type === "set_server") {
      link = this;
      this.addEventListener("message", ({data}) => {
        if (data.type === "connected") connection(true); else if (data.type === "closed") connection(false);
      });
    }
    return post.call(this, data, ...rest);
  };
  const send = message => { if (link) post.call(link, {type: "send", message}); };

  // At a fixed place above everything else, at every size: STOP, and beside it what the page has to say about itself.
  const stop = document.createElement("button"), notice = document.createElement("div");
  stop.id = "hexapod-stop";
  stop.textContent = "STOP";
  stop.title = "emergency stop: freeze the pose at once (space bar)";
  stop.style.cssText = "position:fixed;left:12px;top:12px;width:96px;height:52px;z-index:2147483000;border:0;border-radius:8px;"
    + "background:#e03131;color:#fff;font:bold 20px sans-serif;cursor:pointer;touch-action:none;box-shadow:0 1px 6px #0006";
  notice.id = "hexapod-notice";
  notice.style.cssText = "position:fixed;left:118px;top:12px;max-width:min(420px,calc(100vw - 140px));z-index:2147483000;"
    + "display:none;padding:6px 10px;border-radius:8px;background:#212529e6;color:#fff;font:13px sans-serif";
  const LOST = "not connected to the robot: what is shown is old, and STOP does not reach it from this page";
  let lost = false, said = 0;
  const say = (text, time) => {
    notice.textContent = text;
    notice.style.display = text ? "block" : "none";
    clearTimeout(said);
    if (time) said = setTimeout(() => say(lost ? LOST : ""), time);
  };
  const connection = up => {
    lost = !up;
    document.documentElement.classList.toggle("hexapod-lost", lost);
    stop.style.background = up ? "#e03131" : "repeating-linear-gradient(45deg,#868e96 0 8px,#5c636a 8px 16px)";
    say(up ? "" : LOST);
  };
  stop.addEventListener("pointerdown", () => { release(); send({type: STOP}); });
  // Without a pointer: by the keyboard, or by an aid.
  stop.addEventListener("click", event => { if (event.detail === 0) { release(); send({type: STOP}); } });

  // What a key adds to (forward, left, turn) while it is held.
  const KEYS = {
    KeyW: [1, 0, 0], KeyS: [-1, 0, 0], KeyA: [0, 1, 0], KeyD: [0, -1, 0], KeyQ: [0, 0, 1], KeyE: [0, 0, -1],
    ArrowUp: [1, 0, 0], ArrowDown: [-1, 0, 0], ArrowLeft: [0, 0, 1], ArrowRight: [0, 0, -1],
  };
  const DEAD_ZONE = 0.15, STOP_BUTTON = 1;
  const ASLEEP = 1000;  // [ms] without a tick: the computer slept; a key that was held then is pressed again to drive
  const held = new Set();
  let moving = false, padStops = false, ticked = performance.now();

  const pad = () => [...(navigator.getGamepads ? navigator.getGamepads() : [])].find(each => each && each.connected);
  const stick = value => Math.abs(value || 0) < DEAD_ZONE ? 0 : -value;
  const axes = () => {
    const sum = [0, 0, 0];
    for (const code of held) KEYS[code].forEach((part, k) => { sum[k] += part; });
    const game = pad();
    if (game) [1, 0, 2].forEach((axis, k) => { sum[k] += stick(game.axes[axis]); });
    return sum.map(part => Math.max(-1, Math.min(1, part)));
  };
  // Buttons for fingers; a finger that slides off its button, or whose touch the browser takes away, lets go of it.
  const FINGERS = [
    ["\u2191", "KeyW", "forward"], ["\u2193", "KeyS", "back"], ["\u2190", "KeyA", "left"], ["\u2192", "KeyD", "right"],
    ["\u21ba", "KeyQ", "turn left"], ["\u21bb", "KeyE", "turn right"],
  ];
  const addFingerButtons = () => {
    const box = document.createElement("div");
    box.id = "hexapod-fingers";
    box.style.cssText = "position:fixed;left:6px;bottom:calc(34vh + 8px);z-index:99;display:grid;gap:6px;"
      + "grid-template-columns:repeat(2,56px);touch-action:none;user-select:none;-webkit-user-select:none";
    for (const [sign, code, name] of FINGERS) {
      const button = document.createElement("button");
      button.textContent = sign;
      button.setAttribute("aria-label", name);
      button.style.cssText = "height:56px;font-size:24px;border:0;border-radius:10px;background:#868e9699;color:#fff;touch-action:none";
      button.addEventListener("pointerdown", event => {
        event.preventDefault();
        button.releasePointerCapture(event.pointerId);
        held.add(code);
        drive();
      });
      for (const end of ["pointerup", "pointerleave", "pointercancel"])
        button.addEventListener(end, () => { held.delete(code); drive(); });
      button.addEventListener("contextmenu", event => event.preventDefault());
      box.append(button);
    }
    document.body.append(box);
  };

  const drive = () => {
    const now = axes(), moves = now.some(part => part !== 0);
    if (moves || moving) send({type: DRIVE, axes: now});
    moving = moves;
  };
  const release = () => { held.clear(); drive(); };

  const types = target => target && (target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName)
    || (target.tagName === "INPUT" && !/^(checkbox|button|range)$/.test(target.type)));
  const onKey = event => {
    const down = event.type === "keydown", halts = /^(Space|KeyX)$/.test(event.code);  // also where a number is typed
    if (down && (event.ctrlKey || event.metaKey || event.altKey || (types(event.target) && !halts))) return;
    if (halts) {
      if (down && !event.repeat) {
        release();
        send(event.code === "Space" ? {type: STOP} : {type: DRIVE, axes: [0, 0, 0]});
      }
    } else if (event.code in KEYS) {
      if (down) held.add(event.code); else held.delete(event.code);
      if (!event.repeat) drive();
    } else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  // A page that draws few pictures, without a graphics processor, asks once for a simpler one. After each picture it pauses for
  // as long as one took: the processor that draws is often the one that the simulated robot needs.
  const FEWEST = 12, OVER = 4000;  // [1/s], [ms]
  let pictures = 0, looks = 0;
  const draw = window.requestAnimationFrame.bind(window), cancel = window.cancelAnimationFrame.bind(window);
  const waiting = new Map();  // pictures that are asked for, by numbers that the browser does not give
  let asked = 1e9;
  const later = (picture, pause) => {
    const id = asked += 1;
    waiting.set(id, picture);
    setTimeout(draw, pause, time => { if (waiting.delete(id)) picture(time); });
    return id;
  };
  const count = () => { pictures += 1; window.requestAnimationFrame(count); };
  count();
  const look = setInterval(() => {
    const slow = pictures < FEWEST * OVER / 1000 && document.visibilityState === "visible", pause = Math.min(500, OVER / (pictures + 1));
    pictures = 0;
    if (!slow) looks = 0;
    else if (link && (looks += 1) > 1) {  // not while it is being loaded
      send({type: SLOW});
      window.requestAnimationFrame = picture => later(picture, pause);
      window.cancelAnimationFrame = id => { if (!waiting.delete(id)) cancel(id); };
      clearInterval(look);
    }
  }, OVER);

  // viser shows the hand over what can be clicked in the picture.
  const hint = document.createElement("div");
  hint.id = "hexapod-hint";
  hint.textContent = "a click tears this leg off (simulated robot); \u201cundo\u201d brings it back";
  hint.style.cssText = "position:fixed;z-index:99;display:none;pointer-events:none;padding:2px 8px;border-radius:6px;"
    + "background:#212529dd;color:#fff;font:12px sans-serif";
  window.addEventListener("pointermove", event => {
    const over = event.target.tagName === "CANVAS" && [event.target, document.body]
      .some(element => getComputedStyle(element).cursor === "pointer");
    hint.style.display = over ? "block" : "none";
    hint.style.left = event.clientX + 14 + "px";
    hint.style.top = event.clientY + 14 + "px";
  }, true);
  window.addEventListener("DOMContentLoaded", () => {
    document.body.append(hint, stop, notice);
    // What the view says of the connection does not outlive it. A phone: the panel takes the lowest third of the page,
    // and its whole width.
    const style = document.createElement("style");
    style.textContent = 'em{font-style:normal}.hexapod-lost em{display:none}'
      + 'div[style*="max-height: 60%"][style*="position: fixed"]{max-height:34%!important;width:100%!important}'
      + 'div[style*="max-height: 60%"] div[style="width: 20em;"]{width:100%!important}';
    document.head.append(style);
    if (matchMedia("(any-pointer: coarse)").matches) addFingerButtons();
  });

  window.addEventListener("keydown", onKey, true);
  window.addEventListener("keyup", onKey, true);
  window.addEventListener("blur", release);
  document.addEventListener("visibilitychange", release);

  setInterval(() => {
    const now = performance.now();
    if (now - ticked > ASLEEP && held.size) {
      held.clear();
      moving = false;  // the robot stands already: the view heard nothing meanwhile
      say(`keys are let go: this browser did nothing for ${((now - ticked) / 1000).toFixed(1)} s; press them again`, 6000);
    }
    ticked = now;
    if (document.visibilityState === "visible") {
      send({type: ALIVE});
      const game = pad(), pressed = Boolean(game && game.buttons[STOP_BUTTON] && game.buttons[STOP_BUTTON].pressed);
      if (pressed && !padStops) send({type: STOP});
      padStops = pressed;
      drive();
    }
    const title = document.getElementById(TITLE_ID);
    if (title && document.title !== title.textContent) document.title = title.textContent;
  }, 100);
})();
