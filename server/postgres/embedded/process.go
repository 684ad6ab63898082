package embedded

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a child that ends with this process.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the child has ended
	err  error         // of Wait; read after done
}

// spawn starts cmd on a dedicated thread that lives as long as the child: the kernel sends the
// parent-death signal when that thread ends, not the process.
func spawn(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer close(p.done)
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
	}()
	return p, <-started
}

// ended reports whether the child has ended; p.err may be read then.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop asks for a fast shutdown, and for an immediate one after limit.
func (p *process) stop(limit time.Duration) error {
	if p.ended() {
		return fmt.Errorf("PostgreSQL had ended before: %w", exitError(p.err))
	}
	if err := p.signal(syscall.SIGINT); err != nil {
		return err
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.err
	case <-timer.C:
	}
	err := p.signal(syscall.SIGQUIT)
	<-p.done
	return errors.Join(fmt.Errorf("PostgreSQL did not shut down within %s and was ended", limit), err)
}

// signal sends sig; a child that has just ended needs none.
func (p *process) signal(sig os.Signal) error {
	err := p.cmd.Process.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// exitError returns an error even for a server that ended with status 0.
func exitError(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}
